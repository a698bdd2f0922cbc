#include "models/simple_hgn.h"

#include "models/heads.h"
#include "models/type_flow.h"

#include <sluice/nn/block_ops.h>

#include <string>
#include <utility>

namespace sluice::models {
namespace {

constexpr double kLeastLength = 1e-12;  // of a row that is brought to length 1

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

Encoding SimpleHgn::encode(const Batch& batch) {
  std::vector<torch::Tensor> x = inputs_->forward(batch);
  nn::LayerAttention kept;  // of the hidden layer before
  for (std::size_t at = 0; at < convs_.size(); ++at) {
    const bool last = at + 1 == convs_.size();
    const nn::UnionBlock all(batch, at, flow_[at]);
    const nn::LayerCall call{executor_, nullptr, step_key().with("layer").with(at)};
    torch::Tensor rows = all.join(x);
    if (is_training())
      rows = nn::dropout(executor_,
                         call.key.with("dropout"),
                         at == 0 ? options_.input_dropout : options_.dropout,
                         rows);
    nn::LayerAttention made;
    const bool hidden_follows = at + 2 < convs_.size();
    rows = convs_[at]->forward(
        all, call, rows, at != 0 && !last ? &kept : nullptr, hidden_follows ? &made : nullptr);
    kept = std::move(made);
    if (!last) rows = torch::elu(rows);
    if (last && options_.normalize_output)
      rows = rows / rows.norm(2, {1}, /*keepdim=*/true).clamp_min(kLeastLength);
    x = all.split(rows);
  }
  return x;
}

}  // namespace sluice::models
