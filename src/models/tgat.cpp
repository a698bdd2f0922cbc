#include "models/tgat.h"

#include "models/heads.h"

#include <sluice/nn/block_ops.h>

#include <string>

namespace sluice::models {
namespace {

using torch::Tensor;

}  // namespace

void Tgat::Options::describe(Schema& schema) {
  schema.field("layers", layers).help("layers, each one hop back in time").range(1, 16);
  schema.field("hidden", hidden).help("columns of rows between layers").range(1, 1 << 16);
  schema.field("heads", heads).help("attention heads; hidden is a multiple of them").range(1, 1024);
  schema.field("dropout", dropout)
      .help("share of elements of what attention found zeroed in training")
      .range(0, 0.999);
  time.describe(schema);
}

Tgat::Tgat(const Options& options, const ModelContext& context)
    : options_(options),
      target_types_(context.target_types),
      executor_{context.threads, context.kernels} {
  check_heads("tgat", options.hidden, options.heads);
  const std::int64_t hidden = options.hidden;
  inputs_ = register_module(
      "inputs",
      std::make_shared<TemporalInputs>(context, "tgat", hidden, context.key.with("inputs")));
  time_ = register_module("time", std::make_shared<nn::TimeEncoding>(options.time));
  const std::int64_t time = time_->width();
  for (std::int64_t at = 0; at < options.layers; ++at) {
    const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(at));
    // Of a graph without node features the first layer's rows are zeros: it reads none.
    const std::int64_t own = at == 0 && !inputs_->has_nodes() ? 0 : hidden;
    const std::int64_t edge = inputs_->has_edges() ? hidden : 0;
    const bool last = at + 1 == options.layers;
    const std::string name = "layer" + std::to_string(at);
    Layer layer;
    layer.attention = register_module(
        name + "_attention",
        std::make_shared<nn::EventAttention>(
            nn::EventAttentionOptions{own + time, own + edge + time, hidden, options.heads},
            key.with("attention")));
    layer.hidden = register_module(
        name + "_hidden",
        std::make_shared<nn::Linear>(hidden + own, hidden, nn::Bias::kZero, key.with("hidden")));
    layer.out = register_module(
        name + "_out",
        std::make_shared<nn::Linear>(
            hidden, last ? context.output_width : hidden, nn::Bias::kZero, key.with("out")));
    layers_.push_back(std::move(layer));
  }
}

// Rows of a type's nodes that the layer writes. @param rows of all types' that it reads; undefined:
// zeros
Tensor Tgat::layer_rows(std::size_t at,
                        const Batch& batch,
                        std::size_t type,
                        const std::vector<Tensor>& rows) const {
  const Layer& layer = layers_[at];
  const LayerEvents in = events_into(batch, at, type);
  const std::int64_t targets = in.events.num_targets();
  const bool reads_nodes = at != 0 || inputs_->has_nodes();
  const Tensor zero = torch::zeros_like(in.events.counts());
  std::vector<Tensor> own, around;
  if (reads_nodes) {
    const auto options = torch::TensorOptions().device(zero.device());
    own.push_back(rows[type].defined() ? rows[type].narrow(0, 0, targets)
                                       : torch::zeros({targets, options_.hidden}, options));
    const Tensor met = neighbours_of(in, rows);
    around.push_back(
        met.defined() ? met : torch::zeros({in.events.num_events(), options_.hidden}, options));
  }
  if (inputs_->has_edges()) {
    const Tensor edges = inputs_->edges(in);
    around.push_back(edges.defined() ? edges
                                     : torch::zeros({0, options_.hidden},
                                                    torch::TensorOptions().device(zero.device())));
  }
  around.push_back(time_->forward(in.events.deltas()));
  std::vector<Tensor> asking = own;
  asking.push_back(time_->forward(zero));
  Tensor found = layer.attention->forward(in.events, torch::cat(asking, 1), torch::cat(around, 1));
  if (is_training()) {
    const RandomKey key = step_key().with("layer").with(at).with(type);
    found = nn::dropout(executor_, key, options_.dropout, found);
  }
  own.insert(own.begin(), found);
  return layer.out->forward(torch::relu(layer.hidden->forward(torch::cat(own, 1))));
}

Encoding Tgat::encode(const Batch& batch) {
  std::vector<Tensor> rows = inputs_->nodes(batch);
  for (std::size_t at = 0; at < layers_.size(); ++at) {
    std::vector<Tensor> next(rows.size());
    for (std::size_t type = 0; type < rows.size(); ++type) {
      if (batch.nodes[type].size_at.at(at + 1) != 0) next[type] = layer_rows(at, batch, type, rows);
    }
    rows = std::move(next);
  }
  Encoding encoded(rows.size());
  for (const std::size_t type : target_types_) encoded[type] = rows[type];
  return encoded;
}

}  // namespace sluice::models
