#include <sluice/nn/simple_hgn_conv.h>

#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>

#include <tuple>

namespace sluice::nn {
namespace {

using torch::Tensor;

// (1 - beta) weights + beta of the layer before's, for edges that it had.
Tensor mixed_edges(const Tensor& weights,
                   const Tensor& keys,
                   const LayerAttention& before,
                   double beta) {
  if (before.keys.size(0) == 0 || keys.size(0) == 0) return weights;
  const Tensor found = torch::searchsorted(before.keys, keys).clamp_max(before.keys.size(0) - 1);
  const Tensor known = before.keys.index_select(0, found).eq(keys).unsqueeze(1);
  const Tensor kept = before.edges.index_select(0, found);
  return torch::where(known, (1 - beta) * weights + beta * kept, weights);
}

// A type's targets are the first of those of the layer before.
Tensor mixed_own(const UnionBlock& layer,
                 const Tensor& weights,
                 const LayerAttention& before,
                 double beta) {
  std::vector<Tensor> kept;
  for (std::size_t type = 0; type < before.own.size(); ++type) {
    if (layer.num_targets(type) != 0)
      kept.push_back(before.own[type].narrow(0, 0, layer.num_targets(type)));
  }
  return kept.empty() ? weights : (1 - beta) * weights + beta * torch::cat(kept);
}

LayerAttention attention_of(const UnionBlock& layer,
                            const Tensor& keys,
                            const Tensor& edges,
                            const Tensor& own) {
  const auto [ascending, order] =
      torch::sort(keys, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  return {ascending, edges.detach().index_select(0, order), layer.split(own.detach())};
}

}  // namespace

SimpleHgnConv::SimpleHgnConv(const SimpleHgnConvOptions& options, RandomKey key)
    : options_(options) {
  const std::int64_t heads = options.heads, width = options.head_width;
  const auto linear = [&](std::string_view name, std::int64_t in) {
    return register_module(
        std::string(name),
        std::make_shared<Linear>(in, heads * width, Bias::kNone, key.with(name)));
  };
  const auto attention = [&](std::string_view name) {
    return register_parameter(std::string(name),
                              glorot(key.with(name), {heads, width}, width, heads));
  };
  linear_ = linear("linear", options.in);
  relation_linear_ = linear("relation_linear", options.relation_width);
  if (options.residual) residual_ = linear("residual", options.in);
  relation_rows_ = register_parameter("relations",
                                      glorot(key.with("relations"),
                                             {options.relations + 1, options.relation_width},
                                             options.relation_width,
                                             options.relations + 1));
  source_attention_ = attention("source_attention");
  target_attention_ = attention("target_attention");
  relation_attention_ = attention("relation_attention");
  bias_ = register_parameter("bias", zeros({out()}));
}

std::int64_t SimpleHgnConv::out() const {
  return options_.join == Heads::kConcat ? options_.heads * options_.head_width
                                         : options_.head_width;
}

// f32 [relations + 1, heads].
Tensor SimpleHgnConv::relation_logits() const {
  const Tensor rows = relation_linear_->forward(relation_rows_);
  return (rows.view({rows.size(0), options_.heads, options_.head_width}) * relation_attention_)
      .sum(-1);
}

Tensor SimpleHgnConv::forward(const UnionBlock& layer,
                              const LayerCall& call,
                              const Tensor& x,
                              const LayerAttention* before,
                              LayerAttention* made) const {
  const LayerCall over{call.executor, layer.block(), call.key};
  const std::int64_t heads = options_.heads, width = options_.head_width;
  const std::int64_t targets = layer.block()->num_targets;
  const Tensor z = linear_->forward(x);
  const Tensor by_heads = z.view({-1, heads, width});
  const Tensor from_source = (by_heads * source_attention_).sum(-1);
  const Tensor from_target = (by_heads.narrow(0, 0, targets) * target_attention_).sum(-1);
  const Tensor by_relation = relation_logits();
  const auto slope = [this](const Tensor& logits) {
    return torch::leaky_relu(logits, options_.negative_slope);
  };
  // An embedding's backward adds in the order of the edges, whatever the number of threads.
  auto [weights, own_weights] = edge_softmax(
      over,
      slope(add_ends(over, from_target, from_source) +
            torch::embedding(by_relation, layer.relations())),
      slope(from_source.narrow(0, 0, targets) + from_target + by_relation[options_.relations]));
  if (before != nullptr || made != nullptr) {
    const Tensor keys = layer.edge_keys();
    if (before != nullptr) {
      weights = mixed_edges(weights, keys, *before, options_.kept_attention);
      own_weights = mixed_own(layer, own_weights, *before, options_.kept_attention);
    }
    if (made != nullptr) *made = attention_of(layer, keys, weights, own_weights);
  }
  if (is_training()) {
    const RandomKey key = call.key.with("attention");
    weights = dropout(call.executor, key.with(0), options_.attention_dropout, weights);
    own_weights = dropout(call.executor, key.with(1), options_.attention_dropout, own_weights);
  }
  Tensor out = weigh_neighbours(over, Columns::kOfHeads, weights, own_weights, z);
  if (residual_) out = out + residual_->forward(x.narrow(0, 0, targets));
  if (options_.join == Heads::kAverage) out = out.view({targets, heads, width}).mean(1);
  return out + bias_;
}

}  // namespace sluice::nn
