#include <sluice/nn/linear.h>

#include <sluice/nn/init.h>

namespace sluice::nn {
namespace {

constexpr std::int64_t kGatherCost = 8;

}  // namespace

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

std::int64_t AggregationShape::transformed_first() const {
  return sources * in * out + kGatherCost * edges * out;
}

std::int64_t AggregationShape::aggregated_first() const {
  return targets * in * out + kGatherCost * edges * in * heads;
}

bool transform_first(const AggregationShape& shape) {
  return shape.transformed_first() < shape.aggregated_first();
}

}  // namespace sluice::nn
