#include "train/event_features.h"

#include "kernels/float_rows.h"

namespace sluice {
namespace {

constexpr std::uint64_t kEventStaging = 4 << 20;  // read buffers

}  // namespace

EventFeatures::EventFeatures(const Dataset& dataset,
                             std::size_t relation,
                             IoChoice io,
                             ThreadArena* threads) {
  const RelationSchema& of = dataset.schema().relations.at(relation);
  const FeatureStoreOptions where{Placement::kDisk, io, kEventStaging, nullptr};
  store_ = dataset.edge_features(of.key(), where, of.features.at(0).name);
  executor_.threads = threads;
}

torch::Tensor EventFeatures::of(const Array& ids) {
  const auto rows = ids.as<std::uint64_t>();
  const std::size_t each = store_->row_bytes();
  stored_.resize(rows.size() * each);
  store_->gather(rows, stored_).or_throw();
  std::vector<const std::byte*> begins(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) begins[i] = stored_.data() + i * each;
  const FeatureSchema& schema = store_->schema();
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto width = static_cast<std::int64_t>(schema.dim);
  torch::Tensor out = torch::empty({count, width});
  kernels::float_rows(executor_, schema, begins.data(), {out.data_ptr<float>(), count, width});
  return out;
}

}  // namespace sluice
