#include <sluice/nn/batch_features.h>

#include <sluice/deferred_features.h>  // IWYU pragma: keep
#include <sluice/nn/tensor_view.h>

#include <cstdint>

namespace sluice::nn {

torch::Tensor features_of(const Batch& batch, std::size_t type, std::size_t group) {
  const std::int64_t columns = batch.deferred ? batch.deferred->columns(type, group) : 0;
  if (columns == 0) return as_tensor(batch.features(type, group));
  const torch::Tensor rows = torch::empty({batch.nodes.at(type).ids.numel(), columns});
  batch.deferred->gather(
      type, group, 0, {rows.data_ptr<float>(), static_cast<std::size_t>(rows.numel())});
  return rows;
}

}  // namespace sluice::nn
