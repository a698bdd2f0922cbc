#include "models/tpnet.h"

#include "models/pair_sequences.h"

#include <sluice/nn/tensor_view.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace sluice::models {
namespace {

using torch::Tensor;

// Bounds what the products of one pass hold: a number of its own, so that results do not depend on
// what memory there is.
constexpr std::int64_t kPairsOfWalks = 256;

// As published: ten times the logarithm of twice the events, but no more than there are nodes.
std::int64_t width_for(const GraphSchema& schema) {
  std::uint64_t nodes = 0, edges = 1;
  for (const NodeTypeSchema& type : schema.nodes) nodes += type.count;
  for (const RelationSchema& relation : schema.relations) edges = std::max(edges, relation.edges);
  const double ends = 2 * static_cast<double>(edges);
  const auto width = static_cast<std::int64_t>(10 * std::floor(std::log(ends)));
  return std::max<std::int64_t>(1, std::min(width, static_cast<std::int64_t>(nodes)));
}

WalkProjectionOptions walk_options(const TpNet::Options& options, const GraphSchema& schema) {
  return {options.walks,
          options.walk_width != 0 ? options.walk_width : width_for(schema),
          options.walk_decay};
}

}  // namespace

void TpNet::Options::describe(Schema& schema) {
  schema.field("events", events).help("latest events of a node that are read").range(1, 1 << 12);
  schema.field("layers", layers).help("layers of the MLP-Mixer").range(1, 64);
  schema.field("hidden", hidden).help("columns of tokens").range(1, 1 << 14);
  schema.field("dropout", dropout)
      .help("share of elements of what layers add zeroed in training")
      .range(0, 0.999);
  schema.field("walks", walks).help("edges of the longest walk in time").range(1, 16);
  schema.field("walk_width", walk_width)
      .help("columns of a node's projections; 0: ten times the logarithm of twice the events")
      .range(0, 1 << 12);
  schema.field("walk_decay", walk_decay)
      .help("how fast edges of walks count for less, a tick: exp(-walk_decay * age)")
      .range(0, 1e6);
  time.describe(schema);
}

TpNet::TpNet(const Options& options, const ModelContext& context)
    : options_(options),
      target_types_(context.target_types),
      output_width_(context.output_width),
      executor_{context.threads, context.kernels},
      walks_(walk_options(options, context.schema), context.key.with("walks")) {
  const std::int64_t hidden = options.hidden, levels = 2 * (options.walks + 1);
  const std::int64_t products = levels * levels;
  const RandomKey key = context.key;
  inputs_ = register_module(
      "inputs", std::make_shared<TemporalInputs>(context, "tpnet", hidden, key.with("inputs")));
  time_ = register_module("time", std::make_shared<nn::TimeEncoding>(options.time));
  const auto add = [&](const char* name, std::int64_t in, std::int64_t out, nn::Bias bias) {
    return register_module(name, std::make_shared<nn::Linear>(in, out, bias, key.with(name)));
  };
  walk_wide_ = add("walk_wide", products, 4 * products, nn::Bias::kZero);
  walk_narrow_ = add("walk_narrow", 4 * products, products, nn::Bias::kZero);
  const std::int64_t rows =
      (inputs_->has_nodes() ? hidden : 0) + (inputs_->has_edges() ? hidden : 0);
  of_event_ = add("of_event", rows + time_->width() + products, 2 * hidden, nn::Bias::kZero);
  of_other_ = add("of_other", products, 2 * hidden, nn::Bias::kNone);
  token_ = add("token", 2 * hidden, hidden, nn::Bias::kZero);
  for (std::int64_t at = 0; at < options.layers; ++at) {
    layers_.push_back(register_module(
        "layer" + std::to_string(at),
        std::make_shared<nn::MixerLayer>(
            nn::MixerLayerOptions{options.events, hidden, 0.5, 4.0, options.dropout},
            key.with("layer").with(static_cast<std::uint64_t>(at)))));
  }
  out_ = add("out", hidden + products, context.output_width, nn::Bias::kZero);
}

// Of rows of projections, one by one, what they say of each other. @return f32 [n, products]
Tensor TpNet::relation_of(const Tensor& walks, const Tensor& a, const Tensor& b) const {
  const Tensor products = pair_products(walks.index_select(0, a), walks.index_select(0, b));
  return walk_narrow_->forward(torch::relu(walk_wide_->forward(products)));
}

TpNet::Seeds TpNet::read_seeds(const Batch& batch, std::size_t type, const Tensor& walks) const {
  const std::int64_t length = options_.events;
  const LayerEvents in = events_into(batch, 0, type, length);
  const std::int64_t seeds = in.events.num_targets();
  const std::vector<std::int64_t> begins = WalkProjections::offsets(batch);
  const auto whole = in.events.counts().options();
  const Tensor own = torch::arange(seeds, whole) + begins.at(type);
  std::vector<Tensor> by_block;
  by_block.reserve(in.blocks.size());
  for (const Block* block : in.blocks)
    by_block.push_back(nn::as_tensor(block->neighbours).to(torch::kInt64) +
                       begins.at(block->source_type));
  const Tensor met = by_block.empty() ? torch::zeros({0}, whole) : in.events.in_order(by_block);

  const auto or_zeros = [&](const Tensor& rows) {
    return rows.defined() ? rows
                          : torch::zeros({in.events.num_events(), options_.hidden},
                                         whole.dtype(torch::kFloat32));
  };
  std::vector<Tensor> columns;
  if (inputs_->has_nodes()) columns.push_back(or_zeros(neighbours_of(in, inputs_->nodes(batch))));
  if (inputs_->has_edges()) columns.push_back(or_zeros(inputs_->edges(in)));
  columns.push_back(time_->forward(in.events.deltas()));
  columns.push_back(relation_of(walks, met, own.index_select(0, in.events.targets())));
  const Tensor tokens = of_event_->forward(torch::cat(columns, 1));
  // Padding is 0 among rows that are one more.
  const Tensor places = in.events.pad((met + 1).unsqueeze(1), nn::Align::kLast, length);
  return {own, places.squeeze(2) - 1, in.events.pad(tokens, nn::Align::kLast, length)};
}

// @param rows, others: of each pair this end among its seeds, and the other among the projections
Tensor TpNet::end_rows(const Seeds& own,
                       const Tensor& rows,
                       const Tensor& others,
                       const Tensor& walks,
                       RandomKey key) const {
  const std::int64_t length = options_.events;
  const Tensor met = own.met.index_select(0, rows);
  const Tensor mask = met.ge(0).unsqueeze(2).to(torch::kFloat32);
  const Tensor beside = others.unsqueeze(1).expand({-1, length}).reshape({-1});
  const Tensor other =
      of_other_->forward(relation_of(walks, met.clamp_min(0).reshape({-1}), beside));
  Tensor tokens = rows_of_seeds(own.tokens, rows) + other.view({rows.size(0), length, -1});
  tokens = token_->forward(torch::relu(tokens).view({-1, 2 * options_.hidden}));
  Tensor x = tokens.view({rows.size(0), length, -1}) * mask;
  for (std::size_t at = 0; at < layers_.size(); ++at)
    x = layers_[at]->forward({executor_, key.with("layer").with(at)}, x, mask);
  const Tensor pair = relation_of(walks, own.own.index_select(0, rows), others);
  return out_->forward(torch::cat({(x * mask).mean(1), pair}, 1));
}

PairEncoding TpNet::encode_pairs(const Batch& batch, const PairRows& pairs) {
  if (pairs.sources.size(0) == 0) return no_rows(pairs, output_width_);
  const Tensor walks = walks_.rows(batch);
  const Seeds sources = read_seeds(batch, pairs.source_type, walks);
  const Seeds destinations = pairs.destination_type == pairs.source_type
                                 ? sources
                                 : read_seeds(batch, pairs.destination_type, walks);
  std::vector<PairEncoding> pieces;
  for (const PairRows& piece : in_pieces(pairs, kPairsOfWalks)) {
    const RandomKey key = step_key().with("piece").with(pieces.size());
    const Tensor from = sources.own.index_select(0, piece.sources);
    const Tensor to = destinations.own.index_select(0, piece.destinations);
    pieces.push_back(
        {end_rows(sources, piece.sources, to, walks, key.with("source")),
         end_rows(destinations, piece.destinations, from, walks, key.with("destination"))});
  }
  return joined(pieces);
}

Encoding TpNet::encode(const Batch& batch) {
  return encode_with_themselves(*this, batch, target_types_);
}

}  // namespace sluice::models
