#include "nn/gat_conv.h"

#include "nn/block_ops.h"
#include "nn/init.h"

namespace sluice::nn {
namespace {

/// [heads * width, heads]: row (h, i) has attention[h, i] in column h, else 0.
torch::Tensor columns_of(const torch::Tensor& attention) {
  const std::int64_t heads = attention.size(0);
  const torch::Tensor own = torch::eye(heads, attention.options()).unsqueeze(1);
  return (attention.unsqueeze(-1) * own).reshape({-1, heads});
}

}  // namespace

GatConv::GatConv(const GatConvOptions& options, RandomKey key) : options_(options) {
  const std::int64_t heads = options.heads, width = options.head_width;
  linear_ = register_module("linear",
                            std::make_shared<Linear>(options.in, heads * width, Bias::kNone, key));
  source_attention_ = register_parameter(
      "source_attention", glorot(key.with("source_attention"), {heads, width}, width, heads));
  target_attention_ = register_parameter(
      "target_attention", glorot(key.with("target_attention"), {heads, width}, width, heads));
  bias_ = register_parameter("bias", torch::zeros({out()}));
}

std::int64_t GatConv::out() const {
  return options_.join == Heads::kConcat ? options_.heads * options_.head_width
                                         : options_.head_width;
}

torch::Tensor GatConv::forward(const LayerCall& call, const torch::Tensor& x) const {
  const std::int64_t heads = options_.heads, width = options_.head_width;
  const std::int64_t targets = call.block->num_targets;
  const torch::Tensor z = linear_->forward(x);
  // a_h . z_h for all heads is a product with a matrix that has a_h in column h: one pass over z.
  const torch::Tensor by_both =
      z.matmul(torch::cat({columns_of(source_attention_), columns_of(target_attention_)}, 1));
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
  torch::Tensor out = weigh_neighbours(call, weights, own_weights, z);
  if (options_.join == Heads::kAverage) out = out.view({targets, heads, width}).mean(1);
  return out + bias_;
}

}  // namespace sluice::nn
