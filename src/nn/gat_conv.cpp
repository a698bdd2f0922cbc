#include <sluice/nn/gat_conv.h>

#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>

namespace sluice::nn {

GatConv::GatConv(const GatConvOptions& options, RandomKey key) : options_(options) {
  const std::int64_t heads = options.heads, width = options.head_width;
  linear_ = register_module("linear",
                            std::make_shared<Linear>(options.in, heads * width, Bias::kNone, key));
  source_attention_ = register_parameter(
      "source_attention", glorot(key.with("source_attention"), {heads, width}, width, heads));
  target_attention_ = register_parameter(
      "target_attention", glorot(key.with("target_attention"), {heads, width}, width, heads));
  bias_ = register_parameter("bias", zeros({out()}));
}

std::int64_t GatConv::out() const {
  return options_.join == Heads::kConcat ? options_.heads * options_.head_width
                                         : options_.head_width;
}

/// [heads, in]: row h is W_h^T a_h, so that its product with x_s is a_h . z_s.
torch::Tensor GatConv::columns_of(const torch::Tensor& attention) const {
  const std::int64_t heads = options_.heads, width = options_.head_width;
  const torch::Tensor by_heads = linear_->weight().view({heads, width, options_.in});
  return attention.unsqueeze(1).bmm(by_heads).squeeze(1);
}

torch::Tensor GatConv::forward(const LayerCall& call, const torch::Tensor& x) const {
  const std::int64_t heads = options_.heads, width = options_.head_width;
  const std::int64_t targets = call.block->num_targets;
  // For all heads in one pass over x.
  const torch::Tensor by_both =
      torch::linear(x, torch::cat({columns_of(source_attention_), columns_of(target_attention_)}));
  const torch::Tensor from_source = by_both.narrow(1, 0, heads).contiguous();
  const torch::Tensor from_target =
      by_both.narrow(0, 0, targets).narrow(1, heads, heads).contiguous();
  const auto slope = [this](const torch::Tensor& logits) {
    return torch::leaky_relu(logits, options_.negative_slope);
  };
  auto [weights, own_weights] =
      edge_softmax(call,
                   slope(add_ends(call, from_target, from_source)),
                   slope(from_source.narrow(0, 0, targets) + from_target));
  if (is_training()) {
    const RandomKey key = call.key.with("attention");
    weights = dropout(call.executor, key.with(0), options_.attention_dropout, weights);
    own_weights = dropout(call.executor, key.with(1), options_.attention_dropout, own_weights);
  }
  const Block& block = *call.block;
  const AggregationShape shape{
      block.num_sources, targets, block.num_edges(), options_.in, heads * width, heads};
  torch::Tensor out =
      transform_first(shape)
          ? weigh_neighbours(call, Columns::kOfHeads, weights, own_weights, linear_->product(x))
          : grouped_product(linear_->precision(),
                            weigh_neighbours(call, Columns::kShared, weights, own_weights, x),
                            linear_->weight(),
                            heads);
  if (options_.join == Heads::kAverage) out = out.view({targets, heads, width}).mean(1);
  return out + bias_;
}

}  // namespace sluice::nn
