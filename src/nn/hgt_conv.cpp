#include <sluice/nn/hgt_conv.h>

#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>

#include <cmath>
#include <string>
#include <utility>

namespace sluice::nn {
namespace {

using torch::Tensor;

constexpr float kSkipBegin = 1;  // sigmoid: .73 of what is new

// Whether a block has edges that count here.
bool has_edges(const Block& block) {
  return block.num_edges() != 0;
}

}  // namespace

HgtConv::HgtConv(HgtConvOptions options, RandomKey key)
    : options_(std::move(options)), types_(options_.num_types), relations_(options_.num_relations) {
  const std::int64_t width = options_.width, head = width / options_.heads;
  const auto linear = [&](std::string_view part, std::size_t type) {
    return register_module(
        std::string(part) + std::to_string(type),
        std::make_shared<Linear>(width, width, Bias::kZero, key.with(part).with(type)));
  };
  for (const std::size_t type : options_.written) {
    const std::string number = std::to_string(type);
    Type& of = types_[type];
    of.out = linear("out", type);
    of.skip = register_parameter("skip" + number, zeros({1}) + kSkipBegin);
    of.norm = register_module(
        "norm" + number,
        std::make_shared<torch::nn::LayerNormImpl>(torch::nn::LayerNormOptions({width})));
  }
  for (const auto& [relation, source, target] : options_.relations) {
    if (!types_[target].query) types_[target].query = linear("query", target);
    if (!types_[source].key) {
      types_[source].key = linear("key", source);
      types_[source].value = linear("value", source);
    }
    const std::string number = std::to_string(relation);
    const RandomKey own = key.with("relation").with(relation);
    const auto by_head = [&](std::string_view part) {
      return register_parameter(std::string(part) + number,
                                glorot(own.with(part), {width, head}, head, head));
    };
    relations_[relation] = {by_head("attention"),
                            by_head("message"),
                            register_parameter("prior" + number, zeros({options_.heads}) + 1)};
  }
}

// Each head's columns through its matrix, in the precision of the type's products.
Tensor HgtConv::by_heads(std::size_t type, const Tensor& x, const Tensor& weight) const {
  return grouped_product(types_[type].query->precision(), x, weight, options_.heads);
}

// Weights of the edges, block after block: f32 [edges, heads].
Tensor HgtConv::attention(const UnionBlock& layer,
                          const LayerCall& call,
                          const std::vector<Tensor>& x) const {
  const std::int64_t heads = options_.heads;
  const std::int64_t head_width = options_.width / heads;
  const double scale = 1 / std::sqrt(static_cast<double>(head_width));
  std::vector<Tensor> queries(x.size()), keys(x.size()), logits;
  for (const BlockRef& block : layer.blocks()) {
    if (!has_edges(*block)) continue;
    const std::size_t source = block->source_type, target = block->target_type;
    Tensor& query = queries[target];
    if (!query.defined())
      query = types_[target].query->forward(x[target].narrow(0, 0, block->num_targets));
    Tensor& key = keys[source];
    if (!key.defined()) key = types_[source].key->forward(x[source]);
    const Relation& relation = relations_[block->relation];
    const LayerCall over{call.executor, block, call.key};
    logits.push_back(dot_ends(over, heads, by_heads(target, query, relation.attention), key) *
                     (relation.prior * scale));
  }
  if (logits.empty()) return {};
  const LayerCall over{call.executor, layer.block(), call.key};
  return layer.by_block(edge_softmax(over, layer.by_target(torch::cat(logits))));
}

std::vector<Tensor> HgtConv::forward(const UnionBlock& layer,
                                     const LayerCall& call,
                                     const std::vector<Tensor>& x) const {
  const Tensor weights = attention(layer, call, x);
  std::vector<Tensor> values(x.size()), sums(x.size()), out(x.size());
  std::int64_t begin = 0;
  for (const BlockRef& block : layer.blocks()) {
    if (!has_edges(*block)) continue;
    const std::size_t source = block->source_type, target = block->target_type;
    Tensor& value = values[source];
    if (!value.defined()) value = types_[source].value->forward(x[source]);
    const LayerCall over{call.executor, block, call.key};
    const Tensor sum = weigh_neighbours(
        over, Columns::kOfHeads, weights.narrow(0, begin, block->num_edges()), {}, value);
    const Tensor message = by_heads(target, sum, relations_[block->relation].message);
    sums[target] = sums[target].defined() ? sums[target] + message : message;
    begin += block->num_edges();
  }
  for (const std::size_t type : options_.written) {
    const std::int64_t targets = layer.num_targets(type);
    if (targets == 0) continue;
    const Type& of = types_[type];
    const Tensor own = x[type].narrow(0, 0, targets);
    Tensor made =
        of.out->forward(sums[type].defined() ? torch::gelu(sums[type]) : torch::zeros_like(own));
    if (is_training())
      made = dropout(call.executor, call.key.with("out").with(type), options_.dropout, made);
    const Tensor share = torch::sigmoid(of.skip);
    out[type] = of.norm->forward(share * made + (1 - share) * own);
  }
  return out;
}

}  // namespace sluice::nn
