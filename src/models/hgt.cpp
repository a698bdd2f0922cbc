#include "models/hgt.h"

#include "models/heads.h"
#include "models/type_flow.h"

#include <sluice/nn/block_ops.h>

#include <string>
#include <utility>

namespace sluice::models {

void Hgt::Options::describe(Schema& schema) {
  schema.field("layers", layers).help("layers, each one hop").range(1, 64);
  schema.field("hidden", hidden)
      .help("columns of all rows between inputs and outputs")
      .range(1, 1 << 20);
  schema.field("heads", heads).help("attention heads; hidden is a multiple of them").range(1, 1024);
  schema.field("dropout", dropout)
      .help("share of elements of what a layer found zeroed in training")
      .range(0, 0.999);
  schema.field("input_dropout", input_dropout)
      .help("share of elements of the first layer's input zeroed in training")
      .range(0, 0.999);
}

Hgt::Hgt(const Options& options, const ModelContext& context)
    : options_(options),
      flow_(type_flow(context.schema, context.target_types, options.layers)),
      executor_{context.threads, context.kernels} {
  check_heads("hgt", options.hidden, options.heads);
  inputs_ = register_module(
      "inputs",
      std::make_shared<ProjectedRows>(context, "hgt", flow_.front().read, options.hidden));
  for (std::size_t at = 0; at < flow_.size(); ++at) {
    const LayerParts parts = parts_of(context.schema, flow_[at]);
    nn::HgtConvOptions conv;
    conv.width = options.hidden;
    conv.heads = options.heads;
    conv.written = parts.written;
    conv.relations = parts.relations;
    conv.num_types = context.schema.nodes.size();
    conv.num_relations = context.schema.relations.size();
    conv.dropout = options.dropout;
    convs_.push_back(register_module(
        "layer" + std::to_string(at),
        std::make_shared<nn::HgtConv>(std::move(conv), context.key.with("layer").with(at))));
  }
  output_ = register_module(
      "output",
      std::make_shared<nn::Linear>(
          options.hidden, context.output_width, nn::Bias::kZero, context.key.with("output")));
}

nn::LayerCall Hgt::call_of(std::size_t layer) const {
  return {executor_, nullptr, step_key().with("layer").with(layer)};
}

std::int64_t Hgt::columns(std::int64_t layer) const {
  return layer == options_.layers ? output_->out() : options_.hidden;
}

std::vector<torch::Tensor> Hgt::input_rows(const Batch& batch) const {
  std::vector<torch::Tensor> x = inputs_->forward(batch);
  for (torch::Tensor& rows : x)
    if (rows.defined()) rows = torch::tanh(rows);
  return x;
}

std::vector<torch::Tensor> Hgt::layer_rows(std::int64_t layer,
                                           const std::vector<torch::Tensor>& x,
                                           const Batch& batch,
                                           LayerCarry&) const {
  const auto at = static_cast<std::size_t>(layer);
  std::vector<torch::Tensor> out =
      convs_[at]->forward(nn::UnionBlock(batch, at, flow_[at]), call_of(at), x);
  if (at + 1 != convs_.size()) return out;
  for (torch::Tensor& rows : out)
    if (rows.defined()) rows = output_->forward(rows);
  return out;
}

Encoding Hgt::encode(const Batch& batch) {
  std::vector<torch::Tensor> x = input_rows(batch);
  for (std::size_t type = 0; is_training() && type < x.size(); ++type)
    if (x[type].defined())
      x[type] = nn::dropout(
          executor_, step_key().with("inputs").with(type), options_.input_dropout, x[type]);
  LayerCarry none;
  for (std::int64_t layer = 0; layer < options_.layers; ++layer)
    x = layer_rows(layer, x, batch, none);
  return x;
}

}  // namespace sluice::models
