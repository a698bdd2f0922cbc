#include "models/graphmixer.h"

#include <string>

namespace sluice::models {
namespace {

using torch::Tensor;

}  // namespace

void GraphMixer::Options::describe(Schema& schema) {
  schema.field("layers", layers).help("layers of the mixer").range(1, 64);
  schema.field("hidden", hidden).help("columns of events' rows").range(1, 1 << 16);
  schema.field("events", events)
      .help("latest events of a node that are mixed; sampler.count is at least as many")
      .range(1, 1 << 16);
  schema.field("window", window)
      .help(
          "of the sampled events, those at most so many ticks old have their nodes averaged; 0: "
          "all")
      .range(0, 1e18);
  schema.field("dropout", dropout)
      .help("share of elements in the mixer zeroed in training")
      .range(0, 0.999);
  time.describe(schema);
}

GraphMixer::GraphMixer(const Options& options, const ModelContext& context)
    : options_(options),
      target_types_(context.target_types),
      executor_{context.threads, context.kernels} {
  const std::int64_t hidden = options.hidden;
  const RandomKey key = context.key;
  inputs_ = register_module(
      "inputs",
      std::make_shared<TemporalInputs>(context, "graphmixer", hidden, key.with("inputs")));
  time_ = register_module("time", std::make_shared<nn::TimeEncoding>(options.time));
  time_rows_ = register_module(
      "time_rows",
      std::make_shared<nn::Linear>(time_->width(), hidden, nn::Bias::kZero, key.with("time_rows")));
  for (std::int64_t at = 0; at < options.layers; ++at) {
    nn::MixerLayerOptions layer;
    layer.tokens = options.events;
    layer.width = hidden;
    layer.dropout = options.dropout;
    layers_.push_back(
        register_module("layer" + std::to_string(at),
                        std::make_shared<nn::MixerLayer>(
                            layer, key.with("layer").with(static_cast<std::uint64_t>(at)))));
  }
  norm_ = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({hidden})));
  const std::int64_t halves = inputs_->has_nodes() ? 2 : 1;
  out_ =
      register_module("out",
                      std::make_shared<nn::Linear>(
                          halves * hidden, context.output_width, nn::Bias::kZero, key.with("out")));
}

// The published mean is over all places, padding among them: how many events there were stays in
// it. So rows are normalized before it, as published; of the mean a norm would take the count out.
Tensor GraphMixer::mixed_events(const LayerEvents& in, std::size_t type) const {
  const nn::EventSequences& events = in.events;
  const std::int64_t length = options_.events;
  const Tensor rows =
      sum_of({time_rows_->forward(time_->forward(events.deltas())), inputs_->edges(in)});
  Tensor x = events.pad(rows, nn::Align::kLast, length);
  const Tensor mask = events.mask(nn::Align::kLast, length).unsqueeze(2).to(torch::kFloat32);
  for (std::size_t at = 0; at < layers_.size(); ++at) {
    const RandomKey key = step_key().with("layer").with(at).with(type);
    x = layers_[at]->forward({executor_, key}, x, mask);
  }
  return (norm_->forward(x) * mask).sum(1) / static_cast<double>(length);
}

// A node's own row and the mean of those that it met within the window.
Tensor GraphMixer::mean_neighbours(const LayerEvents& in,
                                   std::size_t type,
                                   const std::vector<Tensor>& rows) const {
  const nn::EventSequences& events = in.events;
  const std::int64_t targets = events.num_targets(), length = events.longest();
  const auto options = torch::TensorOptions().device(events.counts().device());
  Tensor own = rows[type].defined() ? rows[type].narrow(0, 0, targets)
                                    : torch::zeros({targets, options_.hidden}, options);
  const Tensor met = neighbours_of(in, rows);
  if (!met.defined() || length == 0) return own;
  const Tensor sums = events.pad(met, nn::Align::kFirst, length).sum(1);
  return own + sums / events.counts().clamp_min(1).unsqueeze(1);
}

Encoding GraphMixer::encode(const Batch& batch) {
  const std::vector<Tensor> rows = inputs_->nodes(batch);
  Encoding encoded(batch.nodes.size());
  for (const std::size_t type : target_types_) {
    if (batch.num_seeds(type) == 0) continue;
    const LayerEvents in = events_into(batch, 0, type);
    Tensor halves = mixed_events({in.blocks, in.events.latest(options_.events)}, type);
    if (inputs_->has_nodes()) {
      const LayerEvents near{in.blocks,
                             options_.window == 0 ? in.events : in.events.within(options_.window)};
      halves = torch::cat({halves, mean_neighbours(near, type, rows)}, 1);
    }
    encoded[type] = out_->forward(halves);
  }
  return encoded;
}

}  // namespace sluice::models
