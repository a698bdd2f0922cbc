#include "samplers/snapshot/snapshot_graph.h"

#include "core/type_index.h"
#include "storage/format/relation_lists.h"

#include <sluice/graph_schema.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

// Uses that hotness is judged by: so many at least, or one for so many bytes of the cache; they
// take 8 bytes each while the nodes are chosen, and as candidates 24.
constexpr std::uint64_t kLeastUses = std::uint64_t{1} << 18;
constexpr std::uint64_t kBytesAUse = 64;

std::uint64_t bytes_of_relation(const SamplerGraph& graph, std::size_t r) {
  const Topology& topology = *graph.relations[r];
  return topology.num_edges() * size_of(node_id_dtype(topology.num_sources())) +
         RelationLists::of(*graph.schema, graph.schema->relations[r], ListsOf::kTargets)
             .resident_bytes();
}

// Whether a relation's edges are served as they are: whole lists of one in memory are there
// already.
bool is_left_out(const Topology& topology, const SnapshotOptions& options) {
  return !options.approximate() && topology.resident() != nullptr;
}

// What the edges take in RAM that a cache may hold some of.
std::uint64_t bytes_behind(const SamplerGraph& graph, const SnapshotOptions& options) {
  std::uint64_t sum = 0;
  for (std::size_t r = 0; r < graph.relations.size(); ++r)
    if (!is_left_out(*graph.relations[r], options)) sum += bytes_of_relation(graph, r);
  return sum;
}

// What a program sets by itself was never bound, where the schema says the same.
Result<void> check_ranges(const SnapshotOptions& options) {
  const bool drawn = options.alpha >= 1 && options.alpha <= 1e6 && options.period >= 1 &&
                     options.gamma > 0 && options.gamma <= 1;
  if (options.hot >= 0 && options.hot <= 1 && (drawn || !options.approximate())) return {};
  return Error(
      ErrorCode::kUsage,
      fmt::format("snapshot.hot = {}, alpha = {}, period = {}, gamma = {} do not make a "
                  "snapshot cache",
                  options.hot,
                  options.alpha,
                  options.period,
                  options.gamma),
      "hot is from 0 to 1, alpha and period are 1 or more, gamma is above 0 and at most 1");
}

Result<std::uint64_t> capacity_of(const SamplerGraph& graph, const SnapshotOptions& options) {
  const std::uint64_t all = SnapshotGraph::bytes_of(graph), behind = bytes_behind(graph, options);
  if (options.bytes.bytes == 0)
    return static_cast<std::uint64_t>(options.hot * static_cast<double>(behind));
  // Who says how many does not know which relations the budget had room for.
  if (options.bytes.bytes <= all) return std::min(options.bytes.bytes, behind);
  return Error(ErrorCode::kUsage,
               fmt::format("snapshot.bytes asks for {}; all edges take {} in memory",
                           format_bytes(options.bytes.bytes),
                           format_bytes(all)),
               "set storage.topology = \"memory\" and snapshot.mode = \"off\", or lower it");
}

// Edges of a record, of mini-batches that draw at most so many of a node.
Result<std::uint64_t> slots_for(const SnapshotOptions& options, std::int64_t most) {
  if (most == 0) {
    return Error(ErrorCode::kUsage,
                 "this sampler, or this way of drawing, does not go with a snapshot cache",
                 "set snapshot.mode = \"off\", or draw neighbours uniformly without replacement");
  }
  if (!options.approximate()) return std::uint64_t{0};
  if (most > 0)
    return static_cast<std::uint64_t>(std::ceil(options.alpha * static_cast<double>(most)));
  return Error(ErrorCode::kUsage,
               "a fanout of -1 takes all in-edges of a node; a snapshot has a few of them",
               "set snapshot.mode = \"full\", or give the fanout as a number");
}

Result<std::vector<NodeUses>> find_uses(const SamplerGraph& graph,
                                        const SnapshotOptions& options,
                                        const TrialBatches& trials,
                                        std::uint64_t capacity,
                                        MemoryLedger* ledger) {
  const std::uint64_t most = std::max(kLeastUses, capacity / kBytesAUse);
  if (options.hotness == SnapshotHotness::kLookAhead && trials.queries != nullptr)
    return uses_by_look_ahead(graph, trials, most, ledger);
  return uses_by_degree(graph, most, ledger);
}

Error with_hint(const Error& error) {
  if (error.code() != ErrorCode::kResource) return error;
  return Error(ErrorCode::kResource,
               "the snapshot cache does not fit the budget: " + error.message(),
               "lower snapshot.hot or snapshot.bytes, or raise [memory] host");
}

}  // namespace

std::uint64_t SnapshotGraph::bytes_of(const SamplerGraph& graph) {
  std::uint64_t sum = 0;
  for (std::size_t r = 0; r < graph.relations.size(); ++r) sum += bytes_of_relation(graph, r);
  return sum;
}

Result<std::unique_ptr<SnapshotGraph>> SnapshotGraph::make(const SamplerGraph& graph,
                                                           const SnapshotOptions& options,
                                                           const TrialBatches& trials,
                                                           MemoryLedger* ledger) {
  if (auto checked = check_ranges(options); !checked) return std::move(checked).error();
  const auto capacity = capacity_of(graph, options);
  if (!capacity) return capacity.error();
  const std::int64_t most = trials.most_edges();
  const auto slots = slots_for(options, most);
  if (!slots) return slots.error();
  auto uses = find_uses(graph, options, trials, capacity.value(), ledger);
  if (!uses) return with_hint(uses.error());

  std::unique_ptr<SnapshotGraph> made(new SnapshotGraph());
  made->options_ = options;
  made->graph_ = graph;
  const GraphSchema& schema = *graph.schema;
  const auto bytes = static_cast<double>(std::max<std::uint64_t>(bytes_behind(graph, options), 1));
  for (std::size_t r = 0; r < graph.relations.size(); ++r) {
    made->snapshots_.push_back(nullptr);
    if (is_left_out(*graph.relations[r], options)) continue;
    const double share = static_cast<double>(bytes_of_relation(graph, r)) / bytes;
    SnapshotTopology::Setup setup;
    setup.options = options;
    setup.slots = slots.value();
    setup.capacity = static_cast<std::uint64_t>(share * static_cast<double>(capacity.value()));
    setup.key = trials.key.with("snapshot").with(r);
    setup.ledger = ledger;
    NodeUses& of_type = uses.value().at(type_index(schema, schema.relations[r].target));
    // Of -1, all.
    auto hot = choose_hot(*graph.relations[r], setup, static_cast<std::uint64_t>(most), of_type);
    if (!hot) return with_hint(hot.error());
    if (hot.value().empty()) continue;
    auto snapshot = SnapshotTopology::make(graph.relations[r], setup, hot.value());
    if (!snapshot) return with_hint(snapshot.error());
    made->snapshots_.back() = snapshot.value();
    made->graph_.relations[r] = std::move(snapshot).value();
  }
  return made;
}

SnapshotStats SnapshotGraph::stats() const {
  SnapshotStats sum;
  for (const auto& snapshot : snapshots_) {
    if (snapshot) sum += snapshot->snapshot_stats();
  }
  return sum;
}

Result<void> SnapshotGraph::update(const SamplerGraph& newer,
                                   std::span<const std::vector<std::uint64_t>> changed) {
  for (std::size_t r = 0; r < snapshots_.size(); ++r) {
    if (!snapshots_[r]) {
      graph_.relations[r] = newer.relations.at(r);
      continue;
    }
    const std::span<const std::uint64_t> nodes =
        r < changed.size() ? std::span(changed[r]) : std::span<const std::uint64_t>{};
    if (auto updated = snapshots_[r]->update(newer.relations.at(r), nodes); !updated)
      return updated;
  }
  graph_.schema = newer.schema;
  graph_.weights = newer.weights;
  return {};
}

}  // namespace sluice
