#include "pipeline/data/graph_data_state.h"
#include "samplers/held_out_edges.h"
#include "samplers/paged_events.h"
#include "samplers/temporal_graph.h"
#include "storage/feature/cache_policies.h"
#include "storage/feature/disk_store.h"
#include "storage/topology/filtered_topology.h"
#include "storage/topology/paged_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// A drive of the middle class, for those who have not measured theirs.
std::shared_ptr<const DiskProfile> typical_disk() {
  DiskRates rates;
  rates.read_seconds = {6.7e-6, 11e-6, 27e-6, 105e-6, 420e-6};
  rates.sequential_read = 2.5e9;
  rates.sequential_write = 1.5e9;
  return std::make_shared<const DiskProfile>(rates);
}

// Edges are read by pages, of which this holds more than a ring has under way, and as much scratch
// goes with it. Where epochs are sampled ahead, edges are loaded or larger buffers lent meanwhile.
constexpr std::uint64_t kMostTopologyStaging = 32 << 20;

TopologyOptions topology_options(const GraphSchema& schema,
                                 std::size_t index,
                                 const GraphDataOptions& options) {
  TopologyOptions how{options.topology_of(index),
                      options.io,
                      std::min(options.staging_bytes, kMostTopologyStaging),
                      0};
  if (how.placement == Placement::kMemory) return how;
  std::uint64_t on_disk = 0;
  for (std::size_t r = 0; r < schema.relations.size(); ++r)
    if (options.topology_of(r) == Placement::kDisk) on_disk += schema.relations[r].edges;
  const double share = static_cast<double>(schema.relations[index].edges) /
                       static_cast<double>(std::max<std::uint64_t>(on_disk, 1));
  how.cache_bytes =
      static_cast<std::uint64_t>(share * static_cast<double>(options.topology_cache_bytes));
  return how;
}

// What stands beside the edges, without those at `removed`.
template <class T>
Array without_positions(const Array& column,
                        const Array& removed,
                        const char* name,
                        MemoryLedger* ledger) {
  const auto gone = removed.as<std::uint64_t>();
  const auto all = column.as<T>();
  Array rest =
      Array::make(
          column.dtype(), {static_cast<std::int64_t>(all.size() - gone.size())}, ledger, name)
          .or_throw();
  auto to = rest.as<T>().begin();
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (next < gone.size() && gone[next] == i) {
      ++next;
    } else {
      *to++ = all[i];
    }
  }
  return rest;
}

// The edges of a relation with their times, without those held out; null for a relation without
// times. Those of the topology where it is in RAM, else loaded beside it. @param times of all edges
std::shared_ptr<const TemporalGraph> with_times(const Dataset& from,
                                                const RelationSchema& relation,
                                                std::shared_ptr<Topology> topology,
                                                const HeldOutEdges* held,
                                                Array times) {
  if (!relation.has_times) return nullptr;
  if (topology->resident() == nullptr) {
    topology = from.topology(relation.key());
    if (held != nullptr)
      topology = without_edges(std::move(topology), held->positions, from.ledger());
  }
  if (held != nullptr)
    times = without_positions<std::int64_t>(times, held->positions, "edge times", from.ledger());
  return std::make_shared<TemporalGraph>(
      TemporalGraph::of(
          std::move(topology), std::move(times), relation.source == relation.target, from.ledger())
          .or_throw());
}

// Times of a relation's edges; without a shape where it has none.
Array times_of(const Dataset& from, const RelationSchema& relation) {
  if (!relation.has_times) return {};
  return from.edge_times(relation.key());
}

// Whether events are searched on disk. Those without some are in RAM, as is who took them out.
bool has_paged_times(std::size_t index,
                     const RelationSchema& relation,
                     const GraphDataOptions& options) {
  const bool ruled = index < options.edge_rules.size() && options.edge_rules[index] != nullptr;
  return options.edge_times && options.paged_times && relation.has_times && !ruled &&
         options.topology_of(index) == Placement::kDisk;
}

// Labels, and those of LabelsOf::more behind them.
Array with_more(Array labels, const Array& more, MemoryLedger* ledger) {
  if (more.empty()) return labels;
  Array all =
      Array::make(DType::kI32, {labels.numel() + more.numel()}, ledger, "labels").or_throw();
  const auto end =
      std::ranges::copy(std::as_const(labels).as<std::int32_t>(), all.as<std::int32_t>().begin())
          .out;
  std::ranges::copy(more.as<std::int32_t>(), end);
  return all;
}

void tell_disk(const SamplerGraph& graph, const DiskProfile& disk) {
  for (const auto& relation : graph.relations) {
    if (auto* const paged = dynamic_cast<PagedTopology*>(&relation->stored()))
      paged->set_gap(disk.request_overhead_bytes());
  }
}

void check_number(std::size_t number, std::size_t count, const char* what) {
  if (number < count) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("there is no {} {}: the dataset has {}", what, number, count),
              "they are numbered from 0, in the order of GraphSchema");
}

void check_labels_of(const GraphSchema& schema, const LabelsOf& labels) {
  if (labels.node_type) check_number(*labels.node_type, schema.nodes.size(), "node type");
  if (labels.relation) check_number(*labels.relation, schema.relations.size(), "relation");
  if (!labels.more.empty() && labels.more.dtype() != DType::kI32)
    throw Error(ErrorCode::kUsage,
                fmt::format("LabelsOf::more is {}, not i32", to_string(labels.more.dtype())),
                "classes are i32");
}

}  // namespace

GraphData::GraphData(const Dataset& dataset,
                     const GraphDataOptions& options,
                     const LabelsOf& labels)
    : state_(std::make_unique<State>()) {
  check_labels_of(dataset.schema(), labels);
  state_->dataset = &dataset;
  state_->options = options;
  if (!options.cache) state_->options.cache = std::make_shared<CachePolicyOf<BeladyPolicy>>();
  state_->disk = options.disk ? options.disk : typical_disk();
  state_->labels_of = labels;
  State::Opened opened = state_->open_graph(dataset);
  state_->graph = std::move(opened.graph);
  state_->held_out = std::move(opened.held_out);
  state_->tables = open_feature_tables(dataset, options);
  state_->labels = state_->open_labels(dataset);
  state_->edge_labels = state_->open_edge_labels(dataset);
}

GraphData::~GraphData() = default;

const GraphSchema& GraphData::schema() const {
  return *state_->graph.schema;
}
const LabelsOf& GraphData::labels_of() const {
  return state_->labels_of;
}
const SamplerGraph& GraphData::graph() const {
  return state_->graph;
}
const HeldOutEdges* GraphData::held_out(std::size_t relation) const {
  return relation < state_->held_out.size() ? state_->held_out[relation].get() : nullptr;
}
MemoryLedger* GraphData::ledger() const {
  return state_->dataset->ledger();
}
const GraphDataOptions& GraphData::options() const {
  return state_->options;
}
Array GraphData::node_times(std::size_t type) const {
  auto& known = state_->node_times;
  known.resize(schema().nodes.size());
  check_number(type, known.size(), "node type");
  if (known[type].shape().empty())
    known[type] = state_->dataset->node_times(schema().nodes[type].name);
  return known[type];
}
Array GraphData::labels(std::span<const std::uint64_t> ids) const {
  if (state_->labels.empty()) return {};
  return state_->labels.gather(ids, *state_->dataset->ledger());
}

LabelTable GraphData::State::open_labels(const Dataset& from) const {
  const GraphSchema& schema = from.schema();
  if (labels_of.node_type) {
    const NodeTypeSchema& type = schema.nodes.at(*labels_of.node_type);
    if (type.labels) return {from.labels(type.name), from.ledger()};
  }
  if (labels_of.relation) {
    const RelationSchema& relation = schema.relations.at(*labels_of.relation);
    if (relation.labels)
      return {with_more(from.edge_labels(relation.key()), labels_of.more, from.ledger()),
              from.ledger()};
  }
  if (labels_of.graphs && schema.graphs && schema.graphs->labels)
    return {from.graphs().labels, from.ledger()};
  return {};
}

// Nothing is appended to a relation with labels: they stay what they are when the dataset grows.
std::vector<LabelTable> GraphData::State::open_edge_labels(const Dataset& from) const {
  const auto& relations = from.schema().relations;
  std::vector<LabelTable> all(options.edge_labels ? relations.size() : 0);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!relations[r].labels || relations[r].labels->kind != LabelKind::kClass) continue;
    all[r] = labels_of.relation == r
                 ? labels
                 : LabelTable(from.edge_labels(relations[r].key()), from.ledger());
  }
  return all;
}

GraphData::State::Opened GraphData::State::open_graph(const Dataset& from) const {
  const GraphSchema& schema = from.schema();
  Opened opened;
  opened.graph.schema = &schema;
  opened.held_out.resize(schema.relations.size());
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    const RelationSchema& relation = schema.relations[r];
    TopologyOptions how = topology_options(schema, r, options);
    const bool paged = has_paged_times(r, relation, options);
    if (paged) how.cache_bytes /= 2;  // the other half is for times
    std::shared_ptr<Topology> topology = from.topology(relation.key(), how);
    Array weights, times;
    if (options.edge_weights && relation.has_weights) weights = from.edge_weights(relation.key());
    if (options.edge_times && !paged) times = times_of(from, relation);
    if (r < options.edge_rules.size() && options.edge_rules[r]) {
      HeldOutEdges held =
          find_held_out(*topology, *options.edge_rules[r], from.ledger()).or_throw();
      topology = without_edges(std::move(topology), held.positions, from.ledger());
      if (!weights.empty())
        weights = without_positions<float>(weights, held.positions, "edge weights", from.ledger());
      opened.held_out[r] = std::make_shared<const HeldOutEdges>(std::move(held));
    }
    if (options.edge_times) {
      opened.graph.paged_events.push_back(
          paged ? PagedEvents::open(from, relation.key(), topology, how).or_throw() : nullptr);
      opened.graph.temporal.push_back(
          paged ? nullptr
                : with_times(from, relation, topology, opened.held_out[r].get(), std::move(times)));
    }
    opened.graph.relations.push_back(std::move(topology));
    if (options.edge_weights) opened.graph.weights.push_back(std::move(weights));
  }
  tell_disk(opened.graph, *disk);
  return opened;
}

std::shared_ptr<Topology> GraphData::State::load_relation(std::size_t relation) const {
  const GraphSchema& schema = *graph.schema;
  std::shared_ptr<Topology> loaded = dataset->topology(
      schema.relations[relation].key(), {.placement = Placement::kMemory, .io = options.io});
  if (!held_out[relation]) return loaded;
  return without_edges(std::move(loaded), held_out[relation]->positions, dataset->ledger());
}

// A snapshot cache compares old edges with new ones, so both are there for a while; where they do
// not fit beside each other it is given up, and made anew by the next loader.
void GraphData::State::reopen_graph(const Dataset& newer) {
  const auto take = [this](Opened opened) {
    graph = std::move(opened.graph);
    held_out = std::move(opened.held_out);
  };
  if (snapshots) {
    try {
      Opened opened = open_graph(newer);
      if (!snapshots->update(opened.graph)) snapshots.reset();
      take(std::move(opened));
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
      snapshots.reset();
    }
  }
  graph.temporal.clear();
  graph.paged_events.clear();
  graph.relations.clear();
  graph.weights.clear();
  held_out.clear();
  take(open_graph(newer));
}

void GraphData::reopen(const Dataset& newer) {
  State& state = *state_;
  state.reopen_graph(newer);
  state.dataset = &newer;
  state.node_times.clear();
  for (FeatureTable& table : state.tables) {
    if (feature_rows(newer, table) == table.rows()) continue;
    state.caches.clear();
    table.store = open_feature_store(newer, table, state.options);
  }
  if (state.labels.empty() || state.labels.shape().front() == state.labels_in(newer)) return;
  state.labels = {};
  state.labels = state.open_labels(newer);
}

std::int64_t GraphData::State::labels_in(const Dataset& from) const {
  const GraphSchema& schema = from.schema();
  if (labels_of.node_type)
    return static_cast<std::int64_t>(schema.nodes.at(*labels_of.node_type).count);
  if (labels_of.graphs) return static_cast<std::int64_t>(schema.graphs->count);
  return static_cast<std::int64_t>(schema.relations.at(*labels_of.relation).edge_id_bound) +
         labels_of.more.numel();
}

bool GraphData::State::reads() const {
  return rows_on_disk() || std::ranges::any_of(graph.relations, [](const auto& relation) {
           return relation->resident() == nullptr;
         });
}

const SamplerGraph& GraphData::State::sampling_graph(const LoaderOptions& loader,
                                                     const QuerySource& queries,
                                                     MemoryLedger& book) {
  const SnapshotMode mode = options.snapshot.mode;
  const bool resident = std::ranges::all_of(
      graph.relations, [](const auto& relation) { return relation->resident() != nullptr; });
  if (mode == SnapshotMode::kOff || (mode == SnapshotMode::kFull && resident)) return graph;
  if (options.snapshot.approximate() && loader.exact) return graph;
  if (!loader.sampler && loader.fanout.empty()) return graph;  // no neighbours are drawn
  // Whole lists serve any loader; records of a few edges are of a seed and a way of sampling.
  const bool serves =
      snapshots && (mode == SnapshotMode::kFull ||
                    (snapshot_method == loader.sampler && snapshot_fanout == loader.fanout &&
                     snapshot_seed == loader.seed));
  if (serves) return snapshots->graph();
  snapshots.reset();
  const TrialBatches trials{.fanout = loader.fanout,
                            .method = loader.sampler,
                            .key = RandomKey(loader.seed),
                            .queries = &queries};
  snapshots = SnapshotGraph::make(graph, options.snapshot, trials, &book).or_throw();
  snapshot_method = loader.sampler;
  snapshot_fanout = loader.fanout;
  snapshot_seed = loader.seed;
  return snapshots->graph();
}

void GraphData::plan_epochs(std::string scratch, std::shared_ptr<const DiskProfile> disk) {
  state_->options.scratch = std::move(scratch);
  if (!disk) return;
  state_->disk = std::move(disk);
  tell_disk(state_->graph, *state_->disk);
}

std::string GraphData::engine() const {
  for (const FeatureTable& table : state_->tables) {
    if (const auto* disk = dynamic_cast<const DiskFeatureStore*>(table.store.get()))
      return std::string(disk->engine_name());
  }
  return "memory";
}

}  // namespace sluice
