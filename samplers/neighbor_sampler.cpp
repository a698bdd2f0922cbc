#include "samplers/neighbor_sampler.h"

#include <sluice/samplers/transpose_block.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr double kMostFanout = 0x7fffffff;

bool is_named(const RelationSchema& relation, const std::string& name) {
  return relation.key() == name || relation.name == name;
}

void check_fanout(const std::string& key, const std::vector<std::int64_t>& fanout) {
  for (const std::int64_t count : fanout) {
    if (count >= -1) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("{} holds {}; -1 means all edges, 0 none", key, count),
                "for example fanout = [15, 10, 5]");
  }
}

}  // namespace

void RelationFanout::describe(Schema& schema) {
  schema.field("relation", relation)
      .help("the relation: its name, or SOURCE__NAME__TARGET")
      .required();
  schema.field("fanout", fanout)
      .help("in-edges drawn a node of this relation, one number a layer")
      .unit("edges")
      .required()
      .range(-1, kMostFanout);
}

void NeighborSamplerOptions::describe(Schema& schema) {
  schema.field("fanout", fanout)
      .help(
          "in-edges drawn a node and relation, one number a layer, the first next to the seeds; "
          "-1: all of them, 0: none")
      .unit("edges")
      .range(-1, kMostFanout);
  schema.field("replace", replace).help("draw with replacement: an edge may be drawn again");
  schema.field("weighted", weighted)
      .help(
          "draw by the weights of edges, those of weight 0 never; an edge's cost is its node's "
          "in-degree");
  schema.field("dependence", dependence)
      .help(
          "successive mini-batches in which a node draws the same edges: their rows are often "
          "there "
          "already. Each mini-batch by itself is as before; their errors no longer cancel")
      .unit("mini-batches")
      .range(1, kMostFanout);
  schema.field("draw_once", draw_once)
      .help(
          "a node draws edges at the hop that first lists it, and keeps them in the other layers: "
          "mini-batches are subgraphs, with fewer rows");
  schema.list("relations", relations, "other fanouts for some relations");
  schema.section("snapshot", snapshot, "in-edges of hot nodes kept in memory");
}

std::int64_t NeighborSamplerOptions::most_edges() const {
  // Weights stand by position in the graph; and an edge drawn again would be one of a few.
  if (weighted || replace) return 0;
  std::vector<std::int64_t> all = fanout;
  for (const RelationFanout& other : relations)
    all.insert(all.end(), other.fanout.begin(), other.fanout.end());
  if (std::ranges::count(all, -1) != 0) return -1;
  return all.empty() ? 0 : std::ranges::max(all);
}

NeighborSampler::NeighborSampler(const SamplerGraph& graph,
                                 Options options,
                                 BlockParts parts,
                                 RandomKey key,
                                 std::optional<LayerDraws> layer_draws)
    : options_(std::move(options)), layer_draws_(layer_draws), key_(key), builder_(graph, parts) {
  check_options(graph);
  for (const SampledRelation& relation : builder_.relations()) {
    relations_.push_back({relation.topology,
                          relation.index,
                          relation.source_type,
                          relation.target_type,
                          options_.weighted ? graph.weights[relation.index] : Array()});
    fanouts_.push_back(fanout_of(graph.schema->relations[relation.index]));
  }
}

void NeighborSampler::check_options(const SamplerGraph& graph) const {
  const GraphSchema& schema = *graph.schema;
  check_fanout("[sampler] fanout", options_.fanout);
  for (const RelationFanout& own : options_.relations) {
    check_fanout(fmt::format("[sampler] fanout of '{}'", own.relation), own.fanout);
    if (std::any_of(schema.relations.begin(), schema.relations.end(), [&](const auto& relation) {
          return is_named(relation, own.relation);
        })) {
      continue;
    }
    std::vector<std::string> known;
    known.reserve(schema.relations.size());
    for (const RelationSchema& relation : schema.relations) known.push_back(relation.key());
    throw unknown_name("relation", own.relation, known);
  }
  if (options_.dependence < 1) {
    throw Error(ErrorCode::kUsage,
                fmt::format("[sampler] dependence is {}", options_.dependence),
                "1: mini-batches are independent; k: k successive ones draw alike");
  }
  const bool any_weights = std::any_of(graph.weights.begin(),
                                       graph.weights.end(),
                                       [](const Array& weights) { return !weights.empty(); });
  if (options_.weighted && !any_weights) {
    throw Error(ErrorCode::kUsage,
                "[sampler] weighted is set, but no relation of the dataset has weights",
                "import the edges with weight_column, or leave weighted out");
  }
}

std::vector<std::int64_t> NeighborSampler::fanout_of(const RelationSchema& relation) const {
  for (const RelationFanout& own : options_.relations) {
    if (!is_named(relation, own.relation)) continue;
    if (own.fanout.size() == options_.fanout.size()) return own.fanout;
    throw Error(ErrorCode::kUsage,
                fmt::format("[sampler] fanout of '{}' has {} numbers, that of the others {}",
                            own.relation,
                            own.fanout.size(),
                            options_.fanout.size()),
                "give one number a layer");
  }
  return options_.fanout;
}

Result<Batch> NeighborSampler::sample(const SampleRequest& request, MemoryLedger* ledger) {
  auto batch = sample_whole(request, ledger);
  if (!batch) reset();
  return batch;
}

Result<Batch> NeighborSampler::sample_whole(const SampleRequest& request, MemoryLedger* ledger) {
  if (auto begun = begin(request, ledger); !begun) return std::move(begun).error();
  for (std::size_t hop = 0; hop < num_layers(); ++hop) {
    begin_hop(hop);
    for (std::size_t relation = 0; relation < relations_.size(); ++relation) {
      if (auto sampled = sample_relation(relation); !sampled) return std::move(sampled).error();
    }
    if (auto ended = end_hop(); !ended) return std::move(ended).error();
  }
  return finish();
}

Result<void> NeighborSampler::begin(const SampleRequest& request, MemoryLedger* ledger) {
  reset();
  if (ledger != ledger_) {  // scratch is charged to the old one
    blocks_ = {};
    open_.clear();
  }
  ledger_ = ledger;
  const auto length = static_cast<std::uint64_t>(options_.dependence);
  const std::uint64_t period = request.round / length;
  begun_.round_key = key_.with(request.epoch).with(period);
  begun_.next_round_key = key_.with(request.epoch).with(period + 1);
  begun_.passed = static_cast<double>(request.round % length) / static_cast<double>(length);
  return builder_.begin(request, num_layers(), ledger);
}

void NeighborSampler::reset() {
  begun_ = {};
  builder_.reset();
  blocks_.reset();
  for (BlockSampler& relation : open_) relation.reset();
}

void NeighborSampler::begin_hop(std::size_t hop) {
  // All relations start from the nodes listed before the hop, not from what another relation has
  // just found.
  begun_.hop = hop;
  begun_.blocks.resize(relations_.size());
  begun_.num_targets.clear();
  for (const NodeTable& table : builder_.tables()) begun_.num_targets.push_back(table.size());
}

BlockSampler::Request NeighborSampler::block_request(std::size_t relation) const {
  const BlockSampler::Relation& of = relations_[relation];
  return {.relation = of,
          .num_targets = begun_.num_targets[of.target_type],
          .fanout = fanouts_[relation][begun_.hop],
          .replace = options_.replace,
          .key = begun_.round_key.with(begun_.hop).with(of.index),
          .edge_ids = builder_.parts().edge_ids,
          .shared = layer_draws_ ? std::optional(shared_draws(of.source_type)) : std::nullopt,
          .kept = kept_block(relation)};
}

const Block* NeighborSampler::kept_block(std::size_t relation) const {
  if (!options_.draw_once || begun_.hop == 0) return nullptr;
  return &builder_.layer(num_layers() - begun_.hop).at(relation);
}

// A source has one number for all relations that it is in.
SharedDraws NeighborSampler::shared_draws(std::size_t source_type) const {
  const auto key_of = [&](RandomKey round_key) {
    const std::uint64_t hop = layer_draws_->all_layers ? 0 : begun_.hop;
    return round_key.with("source numbers").with(hop).with(source_type);
  };
  const RandomKey now = key_of(begun_.round_key);
  return {.numbers = begun_.passed == 0
                         ? SourceNumbers(now)
                         : SourceNumbers(now, key_of(begun_.next_round_key), begun_.passed),
          .count = layer_draws_->count,
          .hub_degree = layer_draws_->hub_degree};
}

Result<void> NeighborSampler::sample_relation(std::size_t relation) {
  auto block = blocks_.sample(block_request(relation), builder_.tables(), ledger_);
  if (!block) return std::move(block).error();
  begun_.blocks[relation] = std::move(block).value();
  return {};
}

Result<void> NeighborSampler::begin_relation(std::size_t relation) {
  open_.resize(relations_.size());
  begun_.open.push_back(relation);
  return open_[relation].begin(block_request(relation), builder_.tables(), ledger_);
}

Result<void> NeighborSampler::end_relations() {
  for (const std::size_t relation : std::exchange(begun_.open, {})) {
    auto block = open_[relation].finish();
    if (!block) return std::move(block).error();
    begun_.blocks[relation] = std::move(block).value();
  }
  return {};
}

Result<void> NeighborSampler::end_hop() {
  if (auto ended = end_relations(); !ended) return ended;
  // Only now is it known how many sources the layer reads.
  for (Block& block : begun_.blocks) {
    block.num_sources = static_cast<std::int64_t>(builder_.tables()[block.source_type].size());
    if (!builder_.parts().transpose) continue;
    if (auto transposed = transpose_block(block, ledger_); !transposed) return transposed;
  }
  const std::size_t layer = num_layers() - 1 - begun_.hop;
  builder_.set_layer(layer, std::exchange(begun_.blocks, {}));
  builder_.note_sizes(layer);
  return {};
}

Result<Batch> NeighborSampler::finish() {
  return builder_.finish();
}

}  // namespace sluice
