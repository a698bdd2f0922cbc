#include <sluice/nn/linear.h>

#include <sluice/nn/init.h>

namespace sluice::nn {

Linear::Linear(std::int64_t in, std::int64_t out, Bias bias, RandomKey key) {
  weight_ = register_parameter("weight", glorot(key.with("weight"), {out, in}, in, out));
  if (bias == Bias::kZero) bias_ = register_parameter("bias", zeros({out}));
}

torch::Tensor Linear::forward(const torch::Tensor& x) const {
  return linear(precision_, x, weight_, bias_);
}

torch::Tensor Linear::product(const torch::Tensor& x) const {
  return nn::product(precision_, x, weight_);
}

bool transform_first(const AggregationShape& shape) {
  constexpr std::int64_t kGatherCost = 8;
  const std::int64_t before =
      shape.sources * shape.in * shape.out + kGatherCost * shape.edges * shape.out;
  const std::int64_t after =
      shape.targets * shape.in * shape.out + kGatherCost * shape.edges * shape.in * shape.heads;
  return before < after;
}

}  // namespace sluice::nn
