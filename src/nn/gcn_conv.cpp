#include <sluice/nn/gcn_conv.h>

#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>

namespace sluice::nn {

GcnConv::GcnConv(std::int64_t in, std::int64_t out, GcnNorm norm, RandomKey key) : norm_(norm) {
  linear_ = register_module("linear", std::make_shared<Linear>(in, out, Bias::kNone, key));
  bias_ = register_parameter("bias", zeros({out}));
}

torch::Tensor GcnConv::propagate(const LayerCall& call,
                                 const torch::Tensor& x,
                                 const torch::Tensor& degrees) const {
  const Block& block = *call.block;
  const torch::Tensor sampled = sampled_degrees(block);
  if (norm_ == GcnNorm::kMean) {
    const torch::Tensor scale = (sampled + 1).reciprocal();
    return sum_neighbours(call, x, {}, scale, scale);
  }
  const torch::Tensor in_degrees =
      degrees.narrow(0, 0, block.num_sources).to(torch::kFloat32).contiguous();
  const torch::Tensor source_scale = (in_degrees + 1).rsqrt();
  const torch::Tensor target_scale = source_scale.narrow(0, 0, block.num_targets);
  const torch::Tensor missing = in_degrees.narrow(0, 0, block.num_targets) / sampled.clamp_min(1);
  return sum_neighbours(call, x, source_scale, target_scale * missing, target_scale.square());
}

torch::Tensor GcnConv::forward(const LayerCall& call,
                               const torch::Tensor& x,
                               const torch::Tensor& degrees) const {
  const Block& block = *call.block;
  const AggregationShape shape{
      block.num_sources, block.num_targets, block.num_edges(), linear_->in(), linear_->out()};
  if (transform_first(shape)) return propagate(call, linear_->product(x), degrees) + bias_;
  return linear_->forward(propagate(call, x, degrees)) + bias_;
}

}  // namespace sluice::nn
