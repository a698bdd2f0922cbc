#include "models/tgn.h"

#include "models/heads.h"

#include <sluice/nn/block_ops.h>

#include <string>

namespace sluice::models {

using torch::Tensor;

void Tgn::Options::describe(Schema& schema) {
  schema.field("layers", layers).help("layers of attention, each a hop back in time").range(1, 16);
  schema.field("hidden", hidden).help("columns of a memory, and of rows").range(1, 1 << 12);
  schema.field("heads", heads).help("attention heads; hidden is a multiple of them").range(1, 1024);
  schema.field("dropout", dropout)
      .help("share of elements of what attention found zeroed in training")
      .range(0, 0.999);
  time.describe(schema);
}

Tgn::Tgn(const Options& options, const ModelContext& context)
    : options_(options),
      target_types_(context.target_types),
      executor_{context.threads, context.kernels} {
  check_heads("tgn", options.hidden, options.heads);
  const std::int64_t hidden = options.hidden;
  const RandomKey key = context.key;
  memory_ = register_module(
      "memory",
      std::make_shared<NodeMemory>(NodeMemoryOptions{hidden, MemoryCell::kGru, options.time},
                                   context.schema,
                                   key.with("memory")));
  inputs_ = register_module(
      "inputs", std::make_shared<TemporalInputs>(context, "tgn", hidden, key.with("inputs")));
  time_ = register_module("time", std::make_shared<nn::TimeEncoding>(options.time));
  const std::int64_t own = hidden + time_->width();
  const std::int64_t edge = inputs_->has_edges() ? hidden : 0;
  for (std::int64_t at = 0; at < options.layers; ++at) {
    const RandomKey of_layer = key.with("layer").with(static_cast<std::uint64_t>(at));
    const bool last = at + 1 == options.layers;
    const std::string name = "layer" + std::to_string(at);
    Layer layer;
    layer.attention =
        register_module(name + "_attention",
                        std::make_shared<nn::EventAttention>(
                            nn::EventAttentionOptions{own, own + edge, hidden, options.heads},
                            of_layer.with("attention")));
    layer.hidden = register_module(
        name + "_hidden",
        std::make_shared<nn::Linear>(2 * hidden, hidden, nn::Bias::kZero, of_layer.with("hidden")));
    layer.out = register_module(
        name + "_out",
        std::make_shared<nn::Linear>(
            hidden, last ? context.output_width : hidden, nn::Bias::kZero, of_layer.with("out")));
    layers_.push_back(std::move(layer));
  }
}

// Rows of a type's nodes that the layer writes. @param rows of all types' nodes that it reads
Tensor Tgn::layer_rows(std::size_t at,
                       const Batch& batch,
                       std::size_t type,
                       const std::vector<Tensor>& rows) const {
  const Layer& layer = layers_[at];
  const LayerEvents in = events_into(batch, at, type);
  const Tensor own = rows[type].narrow(0, 0, in.events.num_targets());
  const Tensor met = neighbours_of(in, rows);
  const auto none = [&](std::int64_t columns) { return torch::zeros({0, columns}, own.options()); };
  std::vector<Tensor> around{met.defined() ? met : none(options_.hidden)};
  if (inputs_->has_edges()) {
    const Tensor edges = inputs_->edges(in);
    around.push_back(edges.defined() ? edges : none(options_.hidden));
  }
  around.push_back(time_->forward(in.events.deltas()));
  const Tensor now = time_->forward(torch::zeros_like(in.events.counts()));
  Tensor found =
      layer.attention->forward(in.events, torch::cat({own, now}, 1), torch::cat(around, 1));
  if (is_training())
    found = nn::dropout(
        executor_, step_key().with("layer").with(at).with(type), options_.dropout, found);
  return layer.out->forward(torch::relu(layer.hidden->forward(torch::cat({found, own}, 1))));
}

Encoding Tgn::encode(const Batch& batch) {
  std::vector<Tensor> rows(batch.nodes.size());
  for (std::size_t type = 0; type < rows.size(); ++type) {
    const std::int64_t count = batch.nodes[type].ids.numel();
    if (count != 0)
      rows[type] = sum_of({memory_->of(batch, type, count).rows, inputs_->nodes(batch, type)});
  }
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
