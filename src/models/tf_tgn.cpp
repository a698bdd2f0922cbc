#include "models/tf_tgn.h"

#include <sluice/nn/block_ops.h>

#include <string>

namespace sluice::models {
namespace {

using torch::Tensor;

}  // namespace

void TfTgn::Options::describe(Schema& schema) {
  schema.field("layers", layers).help("layers of the decoder; all read one hop").range(1, 64);
  schema.field("hidden", hidden).help("columns of events' rows").range(1, 1 << 16);
  schema.field("heads", heads).help("attention heads; hidden is a multiple of them").range(1, 1024);
  schema.field("feed_forward", feed_forward)
      .help("columns of each layer's hidden layer behind attention")
      .range(1, 1 << 18);
  schema.field("dropout", dropout)
      .help("share of elements of events' rows, and of what layers add to them, zeroed in training")
      .range(0, 0.999);
  time.describe(schema);
}

TfTgn::TfTgn(const Options& options, const ModelContext& context)
    : options_(options),
      target_types_(context.target_types),
      executor_{context.threads, context.kernels} {
  check_heads("tf_tgn", options.hidden, options.heads);
  const std::int64_t hidden = options.hidden;
  const RandomKey key = context.key;
  inputs_ = register_module(
      "inputs", std::make_shared<TemporalInputs>(context, "tf_tgn", hidden, key.with("inputs")));
  time_ = register_module("time", std::make_shared<nn::TimeEncoding>(options.time));
  time_rows_ = register_module(
      "time_rows",
      std::make_shared<nn::Linear>(time_->width(), hidden, nn::Bias::kZero, key.with("time_rows")));
  for (std::int64_t at = 0; at < options.layers; ++at) {
    layers_.push_back(
        register_module("layer" + std::to_string(at),
                        std::make_shared<nn::TransformerLayer>(
                            nn::TransformerLayerOptions{
                                hidden, options.heads, options.feed_forward, options.dropout},
                            key.with("layer").with(static_cast<std::uint64_t>(at)))));
  }
  norm_ = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({hidden})));
  out_ = register_module(
      "out",
      std::make_shared<nn::Linear>(hidden, context.output_width, nn::Bias::kZero, key.with("out")));
}

Tensor TfTgn::encode_type(const Batch& batch, std::size_t type, const std::vector<Tensor>& rows) {
  const LayerEvents in = events_into(batch, 0, type);
  const nn::EventSequences& events = in.events;
  const std::int64_t targets = events.num_targets(), length = events.longest() + 1;
  const Tensor now = time_->forward(torch::zeros_like(events.counts()));
  const Tensor own = sum_of({time_rows_->forward(now),
                             rows[type].defined() ? rows[type].narrow(0, 0, targets) : Tensor()});
  const Tensor past = sum_of({time_rows_->forward(time_->forward(events.deltas())),
                              neighbours_of(in, rows),
                              inputs_->edges(in)});
  const Tensor own_places =
      torch::arange(targets, events.counts().options()) * length + events.counts();
  Tensor x = nn::place_rows(torch::cat({past, own}),
                            torch::cat({events.places(nn::Align::kFirst, length), own_places}),
                            targets * length)
                 .view({targets, length, options_.hidden});
  const RandomKey key = step_key().with("type").with(type);
  if (is_training()) x = nn::dropout(executor_, key.with("rows"), options_.dropout, x);
  for (std::size_t at = 0; at < layers_.size(); ++at) {
    const nn::LayerDraws draws{executor_, key.with("layer").with(at)};
    x = at + 1 < layers_.size() ? layers_[at]->forward(draws, x, {})
                                : layers_[at]->forward_at(draws, x, events.counts());
  }
  return out_->forward(norm_->forward(x));
}

Encoding TfTgn::encode(const Batch& batch) {
  const std::vector<Tensor> rows = inputs_->nodes(batch);
  Encoding encoded(batch.nodes.size());
  for (const std::size_t type : target_types_) {
    if (batch.num_seeds(type) != 0) encoded[type] = encode_type(batch, type, rows);
  }
  return encoded;
}

}  // namespace sluice::models
