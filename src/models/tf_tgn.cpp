#include "models/tf_tgn.h"

#include "models/heads.h"

#include <sluice/nn/block_ops.h>

#include <string>

namespace sluice::models {
namespace {

using torch::Tensor;

}  // namespace

void TfTgn::Options::describe(Schema& schema) {
  schema
      .choice("pairs",
              pairs,
              {{"none", Pairs::kNone, "nodes by themselves"},
               {"co_occurrence",
                Pairs::kCoOccurrence,
                "both ends of a link together: how often an event's node is in either end's "
                "sequence, and how many events ago"}})
      .help("what is encoded; tasks that do not ask about links encode a node with itself");
  schema.field("layers", layers).help("layers of the decoder; all read one hop").range(1, 64);
  schema.field("events", events)
      .help("latest events of a node that are read, of all relations; 0: all that were sampled")
      .range(0, 1 << 16);
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
      output_width_(context.output_width),
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
  if (reads_pairs()) {
    counts_ =
        register_module("counts", std::make_shared<CountEncoding>(hidden, key.with("counts")));
    positions_ = register_module("positions",
                                 std::make_shared<CountEncoding>(hidden, key.with("positions")));
  }
  norm_ = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({hidden})));
  out_ = register_module(
      "out",
      std::make_shared<nn::Linear>(hidden, context.output_width, nn::Bias::kZero, key.with("out")));
}

TfTgn::Sequences TfTgn::read_seeds(const Batch& batch, std::size_t type) const {
  const std::vector<Tensor> rows = inputs_->nodes(batch);
  const LayerEvents in = events_into(batch, 0, type, options_.events);
  const nn::EventSequences& events = in.events;
  const std::int64_t seeds = events.num_targets(), length = events.longest() + 1;
  const Tensor now = time_->forward(torch::zeros_like(events.counts()));
  const Tensor own = sum_of(
      {time_rows_->forward(now), rows[type].defined() ? rows[type].narrow(0, 0, seeds) : Tensor()});
  const Tensor past = sum_of({time_rows_->forward(time_->forward(events.deltas())),
                              neighbours_of(in, rows),
                              inputs_->edges(in)});
  Sequences read{
      events.pad_with_own(past, own, nn::Align::kFirst, length), events.counts(), Tensor()};
  if (!reads_pairs()) return read;
  read.numbers = sequence_numbers(in, batch, type, nn::Align::kFirst, length);
  // Rows of padding are behind all that reads them: whatever they are makes no difference.
  const Tensor ago =
      (read.own.unsqueeze(1) - torch::arange(length, read.own.options())).clamp_min(0);
  read.rows = read.rows + positions_->forward(ago.unsqueeze(2));
  return read;
}

// The own rows behind the last layer, as the task reads them.
Tensor TfTgn::decode(Tensor x, const Tensor& own, RandomKey key) {
  if (is_training()) x = nn::dropout(executor_, key.with("rows"), options_.dropout, x);
  for (std::size_t at = 0; at < layers_.size(); ++at) {
    const nn::LayerDraws draws{executor_, key.with("layer").with(at)};
    x = at + 1 < layers_.size() ? layers_[at]->forward(draws, x, {})
                                : layers_[at]->forward_at(draws, x, own);
  }
  return out_->forward(norm_->forward(x));
}

Tensor TfTgn::encode_end(const Sequences& sequences,
                         const Tensor& seeds,
                         const Tensor& others,
                         RandomKey key) {
  const Tensor numbers = sequences.numbers.index_select(0, seeds);
  const Tensor rows =
      rows_of_seeds(sequences.rows, seeds) + counts_->forward(co_occurrence(numbers, others));
  return decode(rows, sequences.own.index_select(0, seeds), key);
}

PairEncoding TfTgn::encode_pairs(const Batch& batch, const PairRows& pairs) {
  if (!reads_pairs()) {
    const Encoding encoded = encode(batch);
    return {rows_of_seeds(encoded[pairs.source_type], pairs.sources),
            rows_of_seeds(encoded[pairs.destination_type], pairs.destinations)};
  }
  if (pairs.sources.size(0) == 0) return no_rows(pairs, output_width_);
  const bool same = pairs.source_type == pairs.destination_type;
  const Sequences sources = read_seeds(batch, pairs.source_type);
  const Sequences destinations = same ? sources : read_seeds(batch, pairs.destination_type);
  std::vector<PairEncoding> pieces;
  for (const PairRows& piece : in_pieces(pairs)) {
    const RandomKey key = step_key().with("piece").with(pieces.size());
    const Tensor from = sources.numbers.index_select(0, piece.sources);
    const Tensor to = destinations.numbers.index_select(0, piece.destinations);
    pieces.push_back({encode_end(sources, piece.sources, to, key.with("source")),
                      encode_end(destinations, piece.destinations, from, key.with("destination"))});
  }
  return joined(pieces);
}

Encoding TfTgn::encode(const Batch& batch) {
  if (reads_pairs()) return encode_with_themselves(*this, batch, target_types_);
  Encoding encoded(batch.nodes.size());
  for (const std::size_t type : target_types_) {
    if (batch.num_seeds(type) == 0) continue;
    const Sequences read = read_seeds(batch, type);
    encoded[type] = decode(read.rows, read.own, step_key().with("type").with(type));
  }
  return encoded;
}

}  // namespace sluice::models
