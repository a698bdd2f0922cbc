#include "models/dygformer.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <string>

namespace sluice::models {
namespace {

using torch::Tensor;

constexpr std::int64_t kChannels = 4;

// Rows that the mask has, averaged: [n, length, width] to [n, width].
Tensor masked_mean(const Tensor& x, const Tensor& mask) {
  const Tensor weights = mask.unsqueeze(2).to(torch::kFloat32);
  return (x * weights).sum(1) / weights.sum(1);
}

}  // namespace

void DygFormer::Options::describe(Schema& schema) {
  schema.field("layers", layers).help("layers of the Transformer").range(1, 64);
  schema.field("events", events)
      .help("latest events of a node that are read, of all relations; 0: all that were sampled")
      .range(0, 1 << 16);
  schema.field("channel", channel)
      .help("columns of each of the four channels: nodes, edges, times, co-occurrence")
      .range(1, 1 << 14);
  schema.field("heads", heads)
      .help("attention heads; four times channel is a multiple of them")
      .range(1, 1024);
  schema.field("patch", patch)
      .help("events that are one row to the Transformer; more where histories are long")
      .range(1, 1 << 12);
  schema.field("dropout", dropout)
      .help("share of elements of what layers add zeroed in training")
      .range(0, 0.999);
  time.describe(schema);
}

DygFormer::DygFormer(const Options& options, const ModelContext& context)
    : options_(options),
      target_types_(context.target_types),
      output_width_(context.output_width),
      executor_{context.threads, context.kernels} {
  const std::int64_t channel = options.channel, width = kChannels * channel;
  if (width % options.heads != 0)
    throw Error(
        ErrorCode::kUsage,
        fmt::format("model 'dygformer': four times channel = {} is no multiple of heads = {}",
                    channel,
                    options.heads),
        fmt::format("for example channel = {}", (channel / options.heads + 1) * options.heads));
  const RandomKey key = context.key;
  inputs_ = register_module(
      "inputs",
      std::make_shared<TemporalInputs>(context, "dygformer", channel, key.with("inputs")));
  time_ = register_module("time", std::make_shared<nn::TimeEncoding>(options.time));
  counts_ = register_module("counts", std::make_shared<CountEncoding>(channel, key.with("counts")));
  const auto add = [&](const char* name, std::int64_t in, std::int64_t out) {
    return register_module(name,
                           std::make_shared<nn::Linear>(in, out, nn::Bias::kZero, key.with(name)));
  };
  if (inputs_->has_nodes()) node_patches_ = add("node_patches", options.patch * channel, channel);
  if (inputs_->has_edges()) edge_patches_ = add("edge_patches", options.patch * channel, channel);
  time_patches_ = add("time_patches", options.patch * time_->width(), channel);
  count_patches_ = add("count_patches", options.patch * channel, channel);
  for (std::int64_t at = 0; at < options.layers; ++at) {
    layers_.push_back(register_module(
        "layer" + std::to_string(at),
        std::make_shared<nn::TransformerLayer>(
            nn::TransformerLayerOptions{width, options.heads, 4 * width, options.dropout},
            key.with("layer").with(static_cast<std::uint64_t>(at)))));
  }
  out_ = add("out", width, context.output_width);
}

// Tokens side by side: [n, length, width] to [n * length / patch, patch * width].
Tensor DygFormer::patched(const Tensor& tokens) const {
  return tokens.reshape({-1, options_.patch * tokens.size(2)});
}

DygFormer::Seeds DygFormer::read_seeds(const Batch& batch, std::size_t type) const {
  const LayerEvents in = events_into(batch, 0, type, options_.events);
  const nn::EventSequences& events = in.events;
  const std::int64_t seeds = events.num_targets(), patch = options_.patch;
  const std::int64_t patches = events.longest() / patch + 1, length = patches * patch;
  const auto tokens = [&](const Tensor& past, const Tensor& own) {
    return events.pad_with_own(past, own, nn::Align::kLast, length);
  };
  const auto floats = torch::TensorOptions().device(events.counts().device());
  const auto zeros = [&](std::int64_t rows) {
    return torch::zeros({rows, options_.channel}, floats);
  };
  const auto or_zeros = [&](const Tensor& rows, std::int64_t count) {
    return rows.defined() ? rows : zeros(count);
  };
  std::vector<Tensor> channels(kChannels - 1, zeros(seeds * patches));
  if (node_patches_) {
    const std::vector<Tensor> rows = inputs_->nodes(batch);
    const Tensor own = rows[type].defined() ? rows[type].narrow(0, 0, seeds) : zeros(seeds);
    channels[0] = node_patches_->forward(
        patched(tokens(or_zeros(neighbours_of(in, rows), events.num_events()), own)));
  }
  if (edge_patches_) {
    channels[1] = edge_patches_->forward(
        patched(tokens(or_zeros(inputs_->edges(in), events.num_events()), zeros(seeds))));
  }
  channels[2] = time_patches_->forward(patched(
      tokens(time_->forward(events.deltas()), time_->forward(torch::zeros_like(events.counts())))));
  return {sequence_numbers(in, batch, type, nn::Align::kLast, length),
          torch::cat(channels, 1).view({seeds, patches, -1})};
}

DygFormer::End DygFormer::end_of(const Seeds& own,
                                 const Tensor& rows,
                                 const Tensor& numbers,
                                 const Tensor& others) const {
  const Tensor mask = numbers.ge(0);
  // Rows of padding are 0, as those of the other channels' are.
  const Tensor counts =
      counts_->forward(co_occurrence(numbers, others)) * mask.unsqueeze(2).to(torch::kFloat32);
  const std::int64_t patches = own.patches.size(1);
  const Tensor met = count_patches_->forward(patched(counts)).view({numbers.size(0), patches, -1});
  return {torch::cat({rows_of_seeds(own.patches, rows), met}, 2),
          mask.view({numbers.size(0), patches, options_.patch}).any(2)};
}

PairEncoding DygFormer::encode_piece(const Seeds& sources,
                                     const Seeds& destinations,
                                     const PairRows& piece,
                                     RandomKey key) const {
  const Tensor source_numbers = sources.numbers.index_select(0, piece.sources);
  const Tensor destination_numbers = destinations.numbers.index_select(0, piece.destinations);
  const End from = end_of(sources, piece.sources, source_numbers, destination_numbers);
  const End to = end_of(destinations, piece.destinations, destination_numbers, source_numbers);
  Tensor x = torch::cat({from.patches, to.patches}, 1);
  const Tensor mask = torch::cat({from.mask, to.mask}, 1);
  for (std::size_t at = 0; at < layers_.size(); ++at)
    x = layers_[at]->forward({executor_, key.with("layer").with(at)}, x, mask);
  const std::int64_t first = from.patches.size(1), second = to.patches.size(1);
  return {out_->forward(masked_mean(x.narrow(1, 0, first), from.mask)),
          out_->forward(masked_mean(x.narrow(1, first, second), to.mask))};
}

PairEncoding DygFormer::encode_pairs(const Batch& batch, const PairRows& pairs) {
  if (pairs.sources.size(0) == 0) return no_rows(pairs, output_width_);
  const Seeds sources = read_seeds(batch, pairs.source_type);
  const Seeds destinations = pairs.destination_type == pairs.source_type
                                 ? sources
                                 : read_seeds(batch, pairs.destination_type);
  std::vector<PairEncoding> pieces;
  for (const PairRows& piece : in_pieces(pairs))
    pieces.push_back(
        encode_piece(sources, destinations, piece, step_key().with("piece").with(pieces.size())));
  return joined(pieces);
}

Encoding DygFormer::encode(const Batch& batch) {
  return encode_with_themselves(*this, batch, target_types_);
}

}  // namespace sluice::models
