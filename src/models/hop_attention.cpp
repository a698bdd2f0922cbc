#include "models/hop_attention.h"

#include <sluice/nn/block_ops.h>

#include <string>
#include <utility>

namespace sluice::models {

using torch::Tensor;

void HopAttentionOptions::describe(Schema& schema) {
  schema.field("layers", layers).help("layers of attention, each a hop back in time").range(1, 16);
  schema.field("hidden", hidden)
      .help("columns of nodes' rows, and of memories where there are some")
      .range(1, 1 << 12);
  schema.field("heads", heads).help("attention heads; hidden is a multiple of them").range(1, 1024);
  schema.field("dropout", dropout)
      .help("share of elements of what attention found zeroed in training")
      .range(0, 0.999);
  time.describe(schema);
}

HopAttention::HopAttention(const HopAttentionOptions& options,
                           const ModelContext& context,
                           std::shared_ptr<const TemporalInputs> inputs,
                           FirstRows first)
    : options_(options),
      target_types_(context.target_types),
      inputs_(std::move(inputs)),
      first_(first) {
  time_ = register_module("time", std::make_shared<nn::TimeEncoding>(options.time));
  for (std::int64_t at = 0; at < options.layers; ++at) {
    const bool last = at + 1 == options.layers;
    add_layer(at,
              last ? context.output_width : options.hidden,
              context.key.with("layer").with(static_cast<std::uint64_t>(at)));
  }
}

void HopAttention::add_layer(std::int64_t at, std::int64_t out, RandomKey key) {
  const std::int64_t hidden = options_.hidden, time = time_->width();
  const std::int64_t own = reads_nodes(static_cast<std::size_t>(at)) ? hidden : 0;
  const std::int64_t edge = inputs_->has_edges() ? hidden : 0;
  const std::string name = "layer" + std::to_string(at);
  Layer layer;
  layer.attention = register_module(
      name + "_attention",
      std::make_shared<nn::EventAttention>(
          nn::EventAttentionOptions{own + time, own + edge + time, hidden, options_.heads},
          key.with("attention")));
  layer.hidden = register_module(
      name + "_hidden",
      std::make_shared<nn::Linear>(hidden + own, hidden, nn::Bias::kZero, key.with("hidden")));
  layer.out = register_module(
      name + "_out", std::make_shared<nn::Linear>(hidden, out, nn::Bias::kZero, key.with("out")));
  layers_.push_back(std::move(layer));
}

// Rows of a type's nodes that the layer writes. @param rows of all types' that it reads; undefined:
// zeros
Tensor HopAttention::layer_rows(const nn::LayerDraws& draws,
                                std::size_t at,
                                const Batch& batch,
                                std::size_t type,
                                const std::vector<Tensor>& rows) const {
  const Layer& layer = layers_[at];
  const LayerEvents in = events_into(batch, at, type);
  const std::int64_t targets = in.events.num_targets(), events = in.events.num_events();
  const Tensor zero = torch::zeros_like(in.events.counts());
  const auto or_zeros = [&](const Tensor& each, std::int64_t count) {
    const auto floats = torch::TensorOptions().device(zero.device());
    return each.defined() ? each : torch::zeros({count, options_.hidden}, floats);
  };
  std::vector<Tensor> own, around;
  if (reads_nodes(at)) {
    own.push_back(or_zeros(rows[type], targets).narrow(0, 0, targets));
    around.push_back(or_zeros(neighbours_of(in, rows), events));
  }
  if (inputs_->has_edges()) around.push_back(or_zeros(inputs_->edges(in), events));
  around.push_back(time_->forward(in.events.deltas()));
  std::vector<Tensor> asking = own;
  asking.push_back(time_->forward(zero));
  Tensor found = layer.attention->forward(in.events, torch::cat(asking, 1), torch::cat(around, 1));
  if (is_training()) {
    const RandomKey key = draws.key.with("layer").with(at).with(type);
    found = nn::dropout(draws.executor, key, options_.dropout, found);
  }
  own.insert(own.begin(), found);
  return layer.out->forward(torch::relu(layer.hidden->forward(torch::cat(own, 1))));
}

Encoding HopAttention::forward(const nn::LayerDraws& draws,
                               const Batch& batch,
                               std::vector<Tensor> rows) const {
  for (std::size_t at = 0; at < layers_.size(); ++at) {
    std::vector<Tensor> next(rows.size());
    for (std::size_t type = 0; type < rows.size(); ++type) {
      if (batch.nodes[type].size_at.at(at + 1) != 0)
        next[type] = layer_rows(draws, at, batch, type, rows);
    }
    rows = std::move(next);
  }
  Encoding encoded(rows.size());
  for (const std::size_t type : target_types_) encoded[type] = rows[type];
  return encoded;
}

}  // namespace sluice::models
