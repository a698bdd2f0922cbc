#include "tasks/pretext.h"

#include "nn/batch_views.h"
#include "nn/keyed_draws.h"
#include "nn/seen_features.h"

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

namespace sluice::tasks {

torch::Tensor features_of(const PretextStep& step) {
  const torch::Tensor rows = nn::as_tensor(step.batch.features(step.type));
  if (rows.dim() == 2) return rows;
  throw Error(ErrorCode::kInternal, "a batch without the features that are to be masked");
}

torch::Tensor encode_view(Model& model,
                          const Batch& batch,
                          std::size_t type,
                          const torch::Tensor& features,
                          RandomKey key) {
  model.set_step_key(key);
  const nn::SeenFeatures seen(type, features);
  torch::Tensor rows = model.encode(batch).at(type);
  if (seen.read()) return rows;
  throw Error(
      ErrorCode::kUsage,
      "this model reads no features that could be masked or dropped",
      "set [model] type to an encoder of features and neighbours: gat, gcn, gin, graphsage");
}

torch::Tensor sampled_seeds(const PretextStep& step,
                            std::string_view what,
                            std::int64_t count,
                            std::int64_t most) {
  const torch::Tensor ids = nn::node_ids(step.batch, step.type).narrow(0, 0, count);
  if (count <= most) return torch::arange(count, ids.options());
  const torch::Tensor order = nn::drawn_order(step.key.with(what), ids);
  return std::get<0>(order.narrow(0, 0, most).sort());
}

}  // namespace sluice::tasks
