#include "samplers/neighbor_sampler.h"

#include "samplers/transpose_block.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr double kMostFanout = 0x7fffffff;

std::size_t type_index(const GraphSchema& schema, const std::string& name) {
  const auto at = std::find_if(schema.nodes.begin(),
                               schema.nodes.end(),
                               [&](const NodeTypeSchema& type) { return type.name == name; });
  if (at == schema.nodes.end()) {
    throw Error(ErrorCode::kInternal,
                fmt::format("a relation names the node type '{}', which the schema lacks", name));
  }
  return static_cast<std::size_t>(at - schema.nodes.begin());
}

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

Result<Array> copy_ids(std::span<const std::uint64_t> ids, MemoryLedger* ledger) {
  auto made = Array::make(DType::kU64, {static_cast<std::int64_t>(ids.size())}, ledger, "batches");
  if (made) std::copy(ids.begin(), ids.end(), made.value().as<std::uint64_t>().begin());
  return made;
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

NeighborSampler::NeighborSampler(SamplerGraph graph,
                                 Options options,
                                 BlockParts parts,
                                 RandomKey key)
    : graph_(std::move(graph)), options_(std::move(options)), parts_(parts), key_(key) {
  check_graph();
  const GraphSchema& schema = *graph_.schema;
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    relations_.push_back({.topology = graph_.relations[r].get(),
                          .index = r,
                          .source_type = type_index(schema, schema.relations[r].source),
                          .target_type = type_index(schema, schema.relations[r].target)});
    if (options_.weighted) relations_.back().weights = graph_.weights[r];
    fanouts_.push_back(fanout_of(schema.relations[r]));
  }
}

void NeighborSampler::check_graph() const {
  const GraphSchema& schema = *graph_.schema;
  if (graph_.relations.size() != schema.relations.size()) {
    throw Error(
        ErrorCode::kInternal,
        fmt::format(
            "{} topologies for {} relations", graph_.relations.size(), schema.relations.size()));
  }
  check_fanout("[sampler] fanout", options_.fanout);
  for (const RelationFanout& own : options_.relations) {
    check_fanout(fmt::format("[sampler] fanout of '{}'", own.relation), own.fanout);
    if (std::any_of(schema.relations.begin(), schema.relations.end(), [&](const auto& relation) {
          return is_named(relation, own.relation);
        })) {
      continue;
    }
    std::vector<std::string> known;
    for (const RelationSchema& relation : schema.relations) known.push_back(relation.key());
    throw unknown_name("relation", own.relation, known);
  }
  const bool any_weights = std::any_of(graph_.weights.begin(),
                                       graph_.weights.end(),
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
  if (ledger != ledger_) workspace_ = {};  // charged to the old one
  ledger_ = ledger;
  if (auto listed = list_seeds(request); !listed) return listed;

  Batch& batch = begun_.batch;
  batch.epoch = request.epoch;
  batch.index = request.index;
  batch.seed_type = request.seed_type;
  batch.nodes.resize(graph_.schema->nodes.size());
  batch.layers.resize(num_layers());
  for (BatchNodes& nodes : batch.nodes) nodes.size_at.resize(num_layers() + 1);
  auto seeds = copy_ids(request.seeds, ledger);
  if (!seeds) return std::move(seeds).error();
  batch.seeds = std::move(seeds).value();
  begun_.round_key = key_.with(request.epoch).with(request.round);
  note_sizes(num_layers());
  return {};
}

void NeighborSampler::reset() {
  begun_ = {};
  workspace_.blocks.reset();
}

void NeighborSampler::note_sizes(std::size_t layer) {
  std::vector<BatchNodes>& nodes = begun_.batch.nodes;
  for (std::size_t type = 0; type < nodes.size(); ++type)
    nodes[type].size_at[layer] = static_cast<std::int64_t>(workspace_.tables[type].size());
}

void NeighborSampler::make_tables() {
  if (!workspace_.tables.empty()) return;
  const auto& types = graph_.schema->nodes;
  workspace_.tables.resize(types.size());
  for (std::size_t type = 0; type < types.size(); ++type) {
    if (NodeTable::range_bytes(types[type].count) <= parts_.table_bytes)
      workspace_.tables[type].set_range(types[type].count);
  }
}

Result<void> NeighborSampler::list_seeds(const SampleRequest& request) {
  make_tables();
  for (NodeTable& table : workspace_.tables) table.clear();
  if (request.seed_type >= workspace_.tables.size()) {
    return Error(ErrorCode::kInternal, fmt::format("there is no node type {}", request.seed_type));
  }
  const NodeTypeSchema& type = graph_.schema->nodes[request.seed_type];
  NodeTable& table = workspace_.tables[request.seed_type];
  if (auto room = table.reserve(request.seeds.size(), ledger_); !room) return room;
  for (const std::uint64_t seed : request.seeds) {
    if (seed >= type.count) {
      return Error(
          ErrorCode::kData,
          fmt::format(
              "seed {} is no node: type '{}' has {}", seed, type.name, format_count(type.count)));
    }
    const std::size_t before = table.size();
    table.insert(seed);
    if (table.size() == before) {
      return Error(ErrorCode::kData,
                   fmt::format("seed {} appears twice in mini-batch {}", seed, request.index));
    }
  }
  return {};
}

void NeighborSampler::begin_hop(std::size_t hop) {
  // All relations start from the nodes listed before the hop, not from what another relation has
  // just found.
  begun_.hop = hop;
  begun_.num_targets.clear();
  for (const NodeTable& table : workspace_.tables) begun_.num_targets.push_back(table.size());
}

BlockSampler::Request NeighborSampler::block_request(std::size_t relation) const {
  const BlockSampler::Relation& of = relations_[relation];
  return {.relation = of,
          .num_targets = begun_.num_targets[of.target_type],
          .fanout = fanouts_[relation][begun_.hop],
          .replace = options_.replace,
          .key = begun_.round_key.with(begun_.hop).with(of.index),
          .edge_ids = parts_.edge_ids};
}

Result<void> NeighborSampler::sample_relation(std::size_t relation) {
  auto block = workspace_.blocks.sample(block_request(relation), workspace_.tables, ledger_);
  if (!block) return std::move(block).error();
  begun_.blocks.push_back(std::move(block).value());
  return {};
}

Result<void> NeighborSampler::begin_relation(std::size_t relation) {
  return workspace_.blocks.begin(block_request(relation), workspace_.tables, ledger_);
}

void NeighborSampler::end_relation() {
  begun_.blocks.push_back(workspace_.blocks.finish());
}

Result<void> NeighborSampler::end_hop() {
  // Only now is it known how many sources the layer reads.
  for (Block& block : begun_.blocks) {
    block.num_sources = static_cast<std::int64_t>(workspace_.tables[block.source_type].size());
    if (!parts_.transpose) continue;
    if (auto transposed = transpose_block(block, ledger_); !transposed) return transposed;
  }
  const std::size_t layer = num_layers() - 1 - begun_.hop;
  begun_.batch.layers[layer] = std::exchange(begun_.blocks, {});
  note_sizes(layer);
  return {};
}

Result<Batch> NeighborSampler::finish() {
  for (std::size_t type = 0; type < begun_.batch.nodes.size(); ++type) {
    BatchNodes& nodes = begun_.batch.nodes[type];
    auto ids = copy_ids(workspace_.tables[type].ids(), ledger_);
    if (!ids) return std::move(ids).error();
    nodes.ids = std::move(ids).value();
    if (!parts_.degrees) continue;
    auto degrees = count_degrees(type);
    if (!degrees) return std::move(degrees).error();
    nodes.degrees = std::move(degrees).value();
  }
  return std::exchange(begun_.batch, {});
}

Result<Array> NeighborSampler::count_degrees(std::size_t type) {
  const auto nodes = workspace_.tables[type].ids();
  auto made =
      Array::make(DType::kI64, {static_cast<std::int64_t>(nodes.size())}, ledger_, "batches");
  if (!made) return made;
  const auto degrees = made.value().as<std::int64_t>();
  std::fill(degrees.begin(), degrees.end(), 0);
  for (const BlockSampler::Relation& relation : relations_) {
    if (relation.target_type != type) continue;
    if (auto added = workspace_.blocks.add_degrees(relation, nodes, degrees, ledger_); !added)
      return std::move(added).error();
  }
  return made;
}

}  // namespace sluice
