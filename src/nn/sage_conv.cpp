#include <sluice/nn/sage_conv.h>

#include <sluice/nn/block_ops.h>

namespace sluice::nn {
namespace {

torch::Tensor mean_scale(const Block& block) {
  return sampled_degrees(block).clamp_min(1).reciprocal();
}

}  // namespace

SageConv::SageConv(const SageConvOptions& options, RandomKey key) : options_(options) {
  const bool concat = options.combine == Combine::kConcat;
  const std::int64_t neighbours_out = concat ? options.out / 2 : options.out;
  const std::int64_t own_out = concat ? options.out - neighbours_out : options.out;
  own_ = register_module(
      "own", std::make_shared<Linear>(options.in, own_out, Bias::kZero, key.with("own")));
  neighbours_ = register_module(
      "neighbours",
      std::make_shared<Linear>(
          options.in, neighbours_out, concat ? Bias::kZero : Bias::kNone, key.with("neighbours")));
}

AggregationShape SageConv::shape_over(const Block& block) const {
  return {block.num_sources, block.num_targets, block.num_edges(), options_.in, neighbours_->out()};
}

torch::Tensor SageConv::aggregate(const LayerCall& call, const torch::Tensor& x) const {
  if (options_.aggregator == Aggregator::kMax) {
    return neighbours_->forward(max_neighbours(call, x));
  }
  const torch::Tensor mean = mean_scale(*call.block);
  // The bias of `neighbours_` is added once per target either way only if it comes last.
  if (options_.combine == Combine::kSum && transform_first(shape_over(*call.block))) {
    return sum_neighbours(call, neighbours_->product(x), {}, mean);
  }
  return neighbours_->forward(sum_neighbours(call, x, {}, mean));
}

torch::Tensor SageConv::forward(const LayerCall& call, const torch::Tensor& x) const {
  if (options_.aggregator == Aggregator::kMean && options_.combine == Combine::kSum &&
      !transform_first(shape_over(*call.block))) {
    return sum_and_transform(call,
                             own_->precision(),
                             x,
                             mean_scale(*call.block),
                             own_->weight(),
                             own_->bias(),
                             neighbours_->weight());
  }
  const torch::Tensor own = own_->forward(x.narrow(0, 0, call.block->num_targets));
  const torch::Tensor neighbours = aggregate(call, x);
  if (options_.combine == Combine::kConcat) return torch::cat({own, neighbours}, 1);
  return own + neighbours;
}

}  // namespace sluice::nn
