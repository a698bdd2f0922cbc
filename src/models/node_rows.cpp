#include <sluice/models/node_rows.h>

#include <sluice/deferred_features.h>
#include <sluice/error.h>
#include <sluice/nn/learned_rows.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

namespace sluice::models {

namespace {

// Gathered now where the batch leaves that to who asks.
torch::Tensor features_of(const Batch& batch, std::size_t type) {
  const std::int64_t columns = batch.deferred ? batch.deferred->columns(type, 0) : 0;
  if (columns == 0) return nn::as_tensor(batch.features(type));
  const torch::Tensor rows = torch::empty({batch.nodes[type].ids.numel(), columns});
  batch.deferred->gather(
      type, 0, 0, {rows.data_ptr<float>(), static_cast<std::size_t>(rows.numel())});
  return rows;
}

}  // namespace

NodeRows::NodeRows(const ModelContext& context, std::size_t type)
    : type_(type),
      feature_width_(context.schema.nodes.at(type).features.empty()
                         ? 0
                         : std::int64_t{context.schema.nodes[type].features[0].dim}),
      learned_width_(context.rows == nullptr ? 0 : context.rows->dim(type)),
      rows_(context.rows) {}

torch::Tensor NodeRows::of(const Batch& batch) const {
  if (width() == 0 || batch.nodes.at(type_).ids.numel() == 0) return {};
  torch::Tensor rows;
  if (feature_width_ != 0) {
    rows = features_of(batch, type_);
    if (rows.dim() != 2 || rows.size(1) != feature_width_)
      throw Error(
          ErrorCode::kInternal,
          fmt::format("a batch without the {} feature columns of its model", feature_width_));
  }
  if (learned_width_ == 0) return rows;
  const torch::Tensor& learned = rows_->rows(type_);
  return rows.defined() ? torch::cat({rows, learned}, 1) : learned;
}

}  // namespace sluice::models
