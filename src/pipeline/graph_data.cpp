#include "device/device.h"
#include "pipeline/graph_data_state.h"
#include "storage/feature/disk_store.h"
#include "storage/topology/paged_topology.h"

#include <algorithm>

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
                                 const RelationSchema& relation,
                                 const GraphDataOptions& options) {
  const double share = static_cast<double>(relation.edges) /
                       static_cast<double>(std::max<std::uint64_t>(schema.total_edges(), 1));
  const double cache_bytes = share * static_cast<double>(options.topology_cache_bytes);
  return {options.topology,
          options.io,
          std::min(options.staging_bytes, kMostTopologyStaging),
          static_cast<std::uint64_t>(cache_bytes)};
}

void tell_disk(const SamplerGraph& graph, const DiskProfile& disk) {
  for (const auto& relation : graph.relations) {
    if (auto* const paged = dynamic_cast<PagedTopology*>(relation.get()))
      paged->set_gap(disk.request_overhead_bytes());
  }
}

}  // namespace

GraphData::GraphData(const Dataset& dataset,
                     const GraphDataOptions& options,
                     std::size_t target_type)
    : state_(std::make_unique<State>()) {
  state_->dataset = &dataset;
  state_->options = options;
  state_->disk = options.disk ? options.disk : typical_disk();
  state_->target_type = target_type;
  const GraphSchema& schema = dataset.schema();
  state_->graph = state_->open_graph(dataset);
  for (std::size_t type = 0; type < schema.nodes.size(); ++type)
    state_->features.push_back(state_->open_features(dataset, type));
  const NodeTypeSchema& target = schema.nodes.at(target_type);
  if (target.labels) state_->labels = {dataset.labels(target.name), dataset.ledger()};
}

GraphData::~GraphData() = default;

const GraphSchema& GraphData::schema() const {
  return *state_->graph.schema;
}
std::size_t GraphData::target_type() const {
  return state_->target_type;
}
const GraphDataOptions& GraphData::options() const {
  return state_->options;
}
Array GraphData::labels(std::span<const std::uint64_t> nodes) const {
  if (state_->labels.empty()) return {};
  return state_->labels.gather(nodes, *state_->dataset->ledger());
}

SamplerGraph GraphData::State::open_graph(const Dataset& from) const {
  const GraphSchema& schema = from.schema();
  SamplerGraph opened;
  opened.schema = &schema;
  for (const RelationSchema& relation : schema.relations) {
    opened.relations.push_back(
        from.topology(relation.key(), topology_options(schema, relation, options)));
    if (options.edge_weights) {
      opened.weights.push_back(relation.has_weights ? from.edge_weights(relation.key()) : Array());
    }
  }
  tell_disk(opened, *disk);
  return opened;
}

std::unique_ptr<FeatureStore> GraphData::State::open_features(const Dataset& from,
                                                              std::size_t type) const {
  const NodeTypeSchema& node = from.schema().nodes[type];
  if (node.features.empty()) return nullptr;
  const FeatureStoreOptions where{
      options.features, options.io, options.staging_bytes, options.compute};
  return from.features(node.name, where, node.features.front().name);
}

// A snapshot cache compares old edges with new ones, so both are there for a while; where they do
// not fit beside each other it is given up, and made anew by the next loader.
void GraphData::State::reopen_graph(const Dataset& newer) {
  if (snapshots) {
    try {
      SamplerGraph opened = open_graph(newer);
      if (!snapshots->update(opened)) snapshots.reset();
      graph = std::move(opened);
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
      snapshots.reset();
    }
  }
  graph.relations.clear();
  graph.weights.clear();
  graph = open_graph(newer);
}

void GraphData::reopen(const Dataset& newer) {
  State& state = *state_;
  const NodeTypeSchema& target = newer.schema().nodes.at(state.target_type);
  state.reopen_graph(newer);
  state.dataset = &newer;
  for (std::size_t type = 0; type < state.features.size(); ++type) {
    const NodeTypeSchema& node = newer.schema().nodes[type];
    auto& store = state.features[type];
    if (node.features.empty() || (store && store->schema().rows == node.features.front().rows))
      continue;
    state.caches.clear();
    store.reset();
    store = state.open_features(newer, type);
  }
  if (!target.labels || state.labels.shape().front() == static_cast<std::int64_t>(target.count))
    return;
  state.labels = {};
  state.labels = {newer.labels(target.name), newer.ledger()};
}

bool GraphData::State::reads() const {
  for (std::size_t type = 0; type < features.size(); ++type) {
    if (on_disk(type)) return true;
  }
  return std::ranges::any_of(graph.relations,
                             [](const auto& relation) { return relation->resident() == nullptr; });
}

const SamplerGraph& GraphData::State::sampling_graph(const LoaderOptions& loader,
                                                     const BatchOrder& order,
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
                            .order = &order,
                            .seed_type = target_type};
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
  for (const auto& store : state_->features) {
    if (const auto* disk = dynamic_cast<const DiskFeatureStore*>(store.get()))
      return std::string(disk->engine_name());
  }
  return "memory";
}

}  // namespace sluice
