#include "probe/logistic.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

namespace sluice::probe {

LinearLayer train_layer(LinearLayer layer,
                        const torch::Tensor& x,
                        const std::function<torch::Tensor(const torch::Tensor&)>& loss,
                        const std::function<double(const LinearLayer&)>& quality,
                        const LinearProbeOptions& options) {
  const torch::AutoGradMode with_gradients(true);
  layer.weight.requires_grad_();
  layer.bias.requires_grad_();
  torch::optim::Adam adam(
      std::vector<torch::Tensor>{layer.weight, layer.bias},
      torch::optim::AdamOptions(options.learning_rate).weight_decay(options.weight_decay));
  const auto copy = [&layer] {
    return LinearLayer{layer.weight.detach().clone(), layer.bias.detach().clone()};
  };
  LinearLayer best;
  double best_quality = 0;
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    adam.zero_grad();
    loss(layer.scores(x)).backward();
    adam.step();
    const torch::NoGradGuard no_gradients;
    const double reached = quality(layer);
    // While no quality is a number the last epoch counts; what is none is never better than one.
    if (best.weight.defined() && !std::isnan(best_quality) && !(reached > best_quality)) continue;
    best = copy();
    best_quality = reached;
  }
  return best.weight.defined() ? std::move(best) : copy();
}

void check_rows(const torch::Tensor& rows) {
  if (!rows.defined() || rows.dim() != 2 || rows.scalar_type() != torch::kFloat32 ||
      !rows.device().is_cpu())
    throw Error(ErrorCode::kUsage,
                "a probe wants rows as an f32 matrix in the host's memory",
                "give [n, d] of float32");
  const torch::Tensor wrong = rows.isfinite().logical_not().nonzero();
  if (wrong.size(0) == 0) return;
  throw Error(
      ErrorCode::kData,
      fmt::format("row {}, column {} of the embeddings is no finite number ({} such values)",
                  wrong[0][0].item<std::int64_t>(),
                  wrong[0][1].item<std::int64_t>(),
                  wrong.size(0)),
      "replace what is not finite, or train with a lower learning rate");
}

void check_numbers(const torch::Tensor& numbers, std::int64_t bound, const std::string& what) {
  if (!numbers.defined() || numbers.scalar_type() != torch::kInt64 || !numbers.device().is_cpu())
    throw Error(ErrorCode::kUsage,
                fmt::format("{} are no i64 tensor in the host's memory", what),
                "give numbers of rows");
  if (numbers.numel() == 0) return;
  const auto least = numbers.min().item<std::int64_t>(), most = numbers.max().item<std::int64_t>();
  if (least >= 0 && most < bound) return;
  throw Error(
      ErrorCode::kUsage,
      fmt::format("{} name row {}, and there are {} rows", what, least < 0 ? least : most, bound),
      "rows are numbered from 0");
}

}  // namespace sluice::probe
