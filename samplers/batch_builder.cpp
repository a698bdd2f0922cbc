#include <sluice/samplers/batch_builder.h>

#include "core/type_index.h"
#include "samplers/degree_counts.h"
#include "samplers/topology_access.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

// Types in their order, as far as the bytes for all of them go.
std::vector<NodeTable> make_tables(const GraphSchema& schema, const BlockParts& parts) {
  std::vector<NodeTable> tables(schema.nodes.size());
  std::uint64_t left = parts.table_bytes;
  for (std::size_t type = 0; type < tables.size(); ++type) {
    const std::uint64_t count = schema.nodes[type].count;
    if (NodeTable::range_bytes(count) > left) continue;
    left -= NodeTable::range_bytes(count);
    tables[type].set_range(count);
  }
  return tables;
}

Result<Array> copy_ids(std::span<const std::uint64_t> ids, MemoryLedger* ledger) {
  auto made = Array::make(DType::kU64, {static_cast<std::int64_t>(ids.size())}, ledger, "batches");
  if (made) std::copy(ids.begin(), ids.end(), made.value().as<std::uint64_t>().begin());
  return made;
}

}  // namespace

std::vector<SampledRelation> resolve_relations(const SamplerGraph& graph) {
  const GraphSchema& schema = *graph.schema;
  if (graph.relations.size() != schema.relations.size()) {
    throw Error(
        ErrorCode::kInternal,
        fmt::format(
            "{} topologies for {} relations", graph.relations.size(), schema.relations.size()));
  }
  std::vector<SampledRelation> relations;
  relations.reserve(schema.relations.size());
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    relations.push_back({.topology = graph.relations[r].get(),
                         .index = r,
                         .source_type = type_index(schema, schema.relations[r].source),
                         .target_type = type_index(schema, schema.relations[r].target)});
  }
  return relations;
}

Error too_many_block_edges(std::uint64_t count) {
  return Error(
      ErrorCode::kResource,
      fmt::format("a mini-batch would hold {} edges of one relation in one layer; at most {} fit",
                  format_count(count),
                  format_count(std::numeric_limits<std::int32_t>::max())),
      "lower the batch size, or what [sampler] takes a seed");
}

BatchBuilder::BatchBuilder(SamplerGraph graph, BlockParts parts)
    : graph_(std::move(graph)),
      parts_(parts),
      relations_(resolve_relations(graph_)),
      tables_(make_tables(*graph_.schema, parts_)) {}

Result<void> BatchBuilder::begin(const SampleRequest& request,
                                 std::size_t num_layers,
                                 MemoryLedger* ledger) {
  reset();
  if (ledger != ledger_) {  // what is kept is charged to the old one
    tables_ = make_tables(*graph_.schema, parts_);
    ranges_ = {};
  }
  ledger_ = ledger;
  if (auto listed = list_seeds(request); !listed) return listed;
  batch_.epoch = request.epoch;
  batch_.index = request.index;
  batch_.nodes.resize(tables_.size());
  batch_.layers.resize(num_layers);
  for (BatchNodes& nodes : batch_.nodes) nodes.size_at.resize(num_layers + 1);
  batch_.seeds.resize(tables_.size());
  for (std::size_t type = 0; type < tables_.size(); ++type) {
    if (request.seeds.of(type).empty()) continue;
    auto seeds = copy_ids(request.seeds.of(type), ledger);
    if (!seeds) return std::move(seeds).error();
    batch_.seeds[type] = std::move(seeds).value();
  }
  note_sizes(num_layers);
  return {};
}

Result<void> BatchBuilder::list_seeds(const SampleRequest& request) {
  for (NodeTable& table : tables_) table.clear();
  if (request.seeds.num_types() > tables_.size())
    return Error(ErrorCode::kInternal,
                 fmt::format("there is no node type {}", request.seeds.num_types() - 1));
  for (std::size_t type = 0; type < request.seeds.num_types(); ++type) {
    if (auto listed = list_seeds(request, type); !listed) return listed;
  }
  return {};
}

Result<void> BatchBuilder::list_seeds(const SampleRequest& request, std::size_t of_type) {
  const NodeTypeSchema& type = graph_.schema->nodes[of_type];
  NodeTable& table = tables_[of_type];
  const auto seeds = request.seeds.of(of_type);
  if (!request.seeds.times_of(of_type).empty()) {
    return Error(ErrorCode::kUsage,
                 "the queries have times, and this sampler looks at none",
                 "choose [sampler] type = \"temporal\"");
  }
  if (auto room = table.reserve(seeds.size(), ledger_); !room) return room;
  for (const std::uint64_t seed : seeds) {
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

void BatchBuilder::note_sizes(std::size_t boundary) {
  for (std::size_t type = 0; type < tables_.size(); ++type)
    batch_.nodes[type].size_at[boundary] = static_cast<std::int64_t>(tables_[type].size());
}

std::size_t BatchBuilder::size_at(std::size_t type, std::size_t boundary) const {
  return static_cast<std::size_t>(batch_.nodes[type].size_at[boundary]);
}

void BatchBuilder::set_layer(std::size_t layer, std::vector<Block> blocks) {
  batch_.layers[layer] = std::move(blocks);
}

Result<Batch> BatchBuilder::finish() {
  for (std::size_t type = 0; type < tables_.size(); ++type) {
    auto ids = copy_ids(tables_[type].ids(), ledger_);
    if (!ids) return std::move(ids).error();
    batch_.nodes[type].ids = std::move(ids).value();
    if (auto counted = count_degrees(type); !counted) return std::move(counted).error();
  }
  return std::exchange(batch_, {});
}

Result<void> BatchBuilder::count_degrees(std::size_t type) {
  if (!parts_.degrees && !parts_.relation_degrees) return {};
  const auto nodes = tables_[type].ids();
  const auto into_type = [type](const SampledRelation& each) { return each.target_type == type; };
  const auto relations = static_cast<std::size_t>(std::ranges::count_if(relations_, into_type));
  auto counts = DegreeCounts::make(parts_, nodes.size(), relations, ledger_);
  if (!counts) return std::move(counts).error();
  if (auto room = ranges_.ensure(nodes.size(), ledger_); !room) return room;
  const auto ranges = ranges_.first(nodes.size());
  std::size_t number = 0;
  for (const SampledRelation& relation : relations_) {
    if (!into_type(relation) || nodes.empty()) continue;
    // All edges, where a snapshot offers some of them.
    Topology& topology = *relation.topology;
    auto located = topology.resident() != nullptr ? locate(topology, nodes, ranges)
                                                  : topology.whole_ranges(nodes, ranges);
    if (!located) return located;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      counts.value().add(i, number, static_cast<std::int64_t>(ranges[i].degree()));
    ++number;
  }
  std::move(counts).value().put_into(batch_.nodes[type]);
  return {};
}

}  // namespace sluice
