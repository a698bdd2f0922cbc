#include <sluice/nn/gin_conv.h>

#include <sluice/nn/block_ops.h>

namespace sluice::nn {

GinConv::GinConv(const GinConvOptions& options, RandomKey key) {
  epsilon_ = register_parameter("epsilon", torch::full({1}, options.epsilon, torch::kFloat32));
  first_ = register_module(
      "first",
      std::make_shared<Linear>(options.in, options.hidden, Bias::kZero, key.with("first")));
  second_ = register_module(
      "second",
      std::make_shared<Linear>(options.hidden, options.out, Bias::kZero, key.with("second")));
}

torch::Tensor GinConv::forward(const LayerCall& call,
                               const torch::Tensor& x,
                               const torch::Tensor& degrees) const {
  const Block& block = *call.block;
  const torch::Tensor own = x.narrow(0, 0, block.num_targets);
  const torch::Tensor missing = degrees.narrow(0, 0, block.num_targets).to(torch::kFloat32) /
                                sampled_degrees(block).clamp_min(1);
  const torch::Tensor mixed = own * (epsilon_ + 1) + sum_neighbours(call, x, {}, missing);
  return second_->forward(torch::relu(first_->forward(mixed)));
}

}  // namespace sluice::nn
