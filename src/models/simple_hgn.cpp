#include "models/simple_hgn.h"

#include "models/heads.h"
#include "models/type_flow.h"

#include <sluice/nn/block_ops.h>

#include <string>
#include <utility>

namespace sluice::models {
namespace {

constexpr double kLeastLength = 1e-12;  // of a row that is brought to length 1

// A layer's weights as what is carried to the next: keys, edges, then own rows by node type.
LayerCarry carry_of(nn::LayerAttention made) {
  LayerCarry carry{std::move(made.keys), std::move(made.edges)};
  for (torch::Tensor& own : made.own) carry.push_back(std::move(own));
  return carry;
}

nn::LayerAttention attention_in(LayerCarry& carry) {
  nn::LayerAttention before{std::move(carry.at(0)), std::move(carry.at(1)), {}};
  for (std::size_t at = 2; at < carry.size(); ++at) before.own.push_back(std::move(carry[at]));
  return before;
}

}  // namespace

void SimpleHgn::Options::describe(Schema& schema) {
  schema.field("layers", layers)
      .help("layers, each one hop; the last has one head and gives the outputs")
      .range(1, 64);
  schema.field("hidden", hidden)
      .help("columns between layers, those of all heads together")
      .range(1, 1 << 20);
  schema.field("heads", heads)
      .help("attention heads of hidden layers, side by side; hidden is a multiple of them")
      .range(1, 1024);
  schema.field("input_width", input_width)
      .help("columns that each node type's own matrix makes of what there is of its nodes")
      .range(1, 1 << 20);
  schema.field("relation_width", relation_width)
      .help("columns of a relation's learned row")
      .range(1, 1 << 16);
  schema.field("dropout", dropout)
      .help("share of hidden elements zeroed in training")
      .range(0, 0.999);
  schema.field("input_dropout", input_dropout)
      .help("share of elements of the first layer's input zeroed in training")
      .range(0, 0.999);
  schema.field("attention_dropout", attention_dropout)
      .help("share of attention weights zeroed in training")
      .range(0, 0.999);
  schema.field("negative_slope", negative_slope)
      .help("of the leaky ReLU over attention scores")
      .range(0, 1);
  schema.field("kept_attention", kept_attention)
      .help("share of an edge's weight that is the layer before's, of hidden layers but the first")
      .range(0, 1);
  schema.field("normalize_output", normalize_output).help("bring each row of outputs to length 1");
}

SimpleHgn::SimpleHgn(const Options& options, const ModelContext& context)
    : options_(options),
      flow_(type_flow(context.schema, context.target_types, options.layers)),
      executor_{context.threads, context.kernels} {
  check_heads("simple_hgn", options.hidden, options.heads);
  inputs_ = register_module("inputs",
                            std::make_shared<ProjectedRows>(
                                context, "simple_hgn", flow_.front().read, options.input_width));
  for (std::size_t at = 0; at < flow_.size(); ++at)
    convs_.push_back(
        register_module("layer" + std::to_string(at),
                        std::make_shared<nn::SimpleHgnConv>(conv_options(context, at),
                                                            context.key.with("layer").with(at))));
}

nn::SimpleHgnConvOptions SimpleHgn::conv_options(const ModelContext& context,
                                                 std::size_t layer) const {
  const bool last = layer + 1 == flow_.size();
  nn::SimpleHgnConvOptions conv;
  conv.in = layer == 0 ? options_.input_width : options_.hidden;
  conv.heads = last ? 1 : options_.heads;
  conv.head_width = last ? context.output_width : options_.hidden / options_.heads;
  conv.relations = static_cast<std::int64_t>(context.schema.relations.size());
  conv.relation_width = options_.relation_width;
  conv.negative_slope = options_.negative_slope;
  conv.attention_dropout = options_.attention_dropout;
  conv.kept_attention = options_.kept_attention;
  conv.residual = layer != 0;
  return conv;
}

nn::LayerCall SimpleHgn::call_of(std::size_t layer) const {
  return {executor_, nullptr, step_key().with("layer").with(layer)};
}

std::int64_t SimpleHgn::columns(std::int64_t layer) const {
  if (layer == 0) return options_.input_width;
  return convs_.at(static_cast<std::size_t>(layer) - 1)->out();
}

std::uint64_t SimpleHgn::carried_bytes(std::int64_t layer,
                                       std::uint64_t targets,
                                       std::uint64_t edges) const {
  if (!carries(layer)) return 0;
  const std::uint64_t of_heads = static_cast<std::uint64_t>(options_.heads) * sizeof(float);
  return edges * (sizeof(std::int64_t) + of_heads) + targets * of_heads;
}

std::vector<torch::Tensor> SimpleHgn::input_rows(const Batch& batch) const {
  return inputs_->forward(batch);
}

std::vector<torch::Tensor> SimpleHgn::layer_rows(std::int64_t layer,
                                                 const std::vector<torch::Tensor>& x,
                                                 const Batch& batch,
                                                 LayerCarry& carry) const {
  const auto at = static_cast<std::size_t>(layer);
  const bool last = at + 1 == convs_.size();
  const nn::UnionBlock all(batch, at, flow_[at]);
  const nn::LayerCall call = call_of(at);
  torch::Tensor rows = all.join(x);
  if (is_training())
    rows = nn::dropout(executor_,
                       call.key.with("dropout"),
                       at == 0 ? options_.input_dropout : options_.dropout,
                       rows);
  const bool mixes = at != 0 && !last;
  nn::LayerAttention before, made;
  if (mixes) before = attention_in(carry);
  rows = convs_[at]->forward(
      all, call, rows, mixes ? &before : nullptr, carries(layer) ? &made : nullptr);
  carry = carries(layer) ? carry_of(std::move(made)) : LayerCarry();
  if (!last) rows = torch::elu(rows);
  if (last && options_.normalize_output)
    rows = rows / rows.norm(2, {1}, /*keepdim=*/true).clamp_min(kLeastLength);
  return all.split(rows);
}

Encoding SimpleHgn::encode(const Batch& batch) {
  std::vector<torch::Tensor> x = input_rows(batch);
  LayerCarry attention;  // of the hidden layer before
  for (std::int64_t layer = 0; layer < options_.layers; ++layer)
    x = layer_rows(layer, x, batch, attention);
  return x;
}

}  // namespace sluice::models
