#include "bench/samplers/snapshot.h"

#include "bench/support/program.h"
#include "core/log.h"
#include "core/threads.h"
#include "prep/generate/rmat.h"
#include "samplers/group_sampler.h"
#include "samplers/snapshot/snapshot_graph.h"

#include <sluice/samplers/node_queries.h>
#include <sluice/samplers/seed_order.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <system_error>

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void generate(const std::filesystem::path& path, std::uint64_t scale, double edge_factor) {
  RmatGenerator::Options options;
  options.scale = static_cast<std::int64_t>(scale);
  options.edge_factor = edge_factor;
  options.node_options.features = 0;
  MemoryLedger ledger;
  ThreadArena arena;
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log};
  DatasetWriter writer(path, Overwrite::kRefuse, &ledger);
  RmatGenerator(options).generate(writer, context);
  writer.commit("bench");
}

// A dataset's relations as a run opens them.
struct Opened {
  Opened(const std::string& path, const TopologyOptions& options, MemoryLedger& ledger)
      : dataset(Dataset::open(path, {.ledger = &ledger})) {
    graph.schema = &dataset.schema();
    for (const RelationSchema& relation : dataset.schema().relations)
      graph.relations.push_back(dataset.topology(relation.key(), options));
  }
  TopologyStats stats() const {
    TopologyStats sum;
    for (const auto& topology : graph.relations) sum += topology->stats();
    return sum;
  }

  Dataset dataset;
  SamplerGraph graph;
};

// Nodes of type 0 that have in-edges.
std::vector<std::uint64_t> seeds_of(const SamplerGraph& graph) {
  std::vector<std::uint64_t> seeds;
  const std::uint64_t nodes = graph.relations.at(0)->num_targets();
  for (std::uint64_t n = 0; n < nodes; ++n) {
    EdgeRange range;
    graph.relations[0]->ranges({&n, 1}, {&range, 1}).or_throw();
    if (range.degree() != 0) seeds.push_back(n);
  }
  return seeds;
}

std::uint64_t sample(const SamplerGraph& graph,
                     const SnapshotWork& work,
                     const SeedOrder& order,
                     std::uint64_t first,
                     std::uint64_t last,
                     MemoryLedger& ledger) {
  ThreadArena arena(work.threads);
  GroupSampler sampler(graph, {work.fanout}, {.transpose = false}, RandomKey(1), arena);
  std::uint64_t edges = 0;
  while (first < last) {
    const std::uint64_t end = std::min<std::uint64_t>(last, first + sampler.group_size());
    std::vector<std::vector<std::uint64_t>> seeds;
    std::vector<SampleRequest> requests;
    for (; first < end; ++first) {
      seeds.push_back(order.batch(0, first % order.num_batches()));
      requests.push_back({.round = first, .index = first, .seeds = seeds.back()});
    }
    for (const Batch& batch : sampler.sample(requests, &ledger).or_throw()) {
      for (const auto& relations : batch.layers)
        for (const Block& block : relations) edges += static_cast<std::uint64_t>(block.num_edges());
    }
  }
  return edges;
}

}  // namespace

GrowingGraph::GrowingGraph(const std::string& dir, std::uint64_t scale) {
  const std::string name = "bench-snapshot-" + std::to_string(::getpid());
  base_ = std::filesystem::path(dir) / (name + "-base");
  later_ = std::filesystem::path(dir) / (name + "-later");
  // Each edge is a function of its number, and lists keep the order of edges: the base's lists are
  // the beginnings of the later ones.
  generate(base_, scale, 16);
  generate(later_, scale, 17.6);
}

GrowingGraph::~GrowingGraph() {
  std::error_code ignored;
  std::filesystem::remove_all(base_, ignored);
  std::filesystem::remove_all(later_, ignored);
}

SnapshotResult run_snapshot(const GrowingGraph& graph, const SnapshotWork& work) {
  MemoryLedger kept, workspace;
  SnapshotResult result;
  const bool snapshots = work.options.mode != SnapshotMode::kOff;
  // A tenth of what the edges take: all for pages, or most of it for records.
  const auto start = Clock::now();
  TopologyOptions how{.placement = work.placement, .staging_bytes = 4 << 20};
  {
    const Opened measured(graph.base(), {.placement = Placement::kDisk, .cache_bytes = 0}, kept);
    const std::uint64_t budget = SnapshotGraph::bytes_of(measured.graph) / 10;
    how.cache_bytes = snapshots ? budget / 10 : budget;
  }
  SnapshotOptions options = work.options;
  options.hot = 0.09;
  Opened base(graph.base(), how, kept);
  const auto seeds = seeds_of(base.graph);
  const SeedOrder order(seeds, work.batch_size, Shuffle::kEveryEpoch, RandomKey(1));
  std::unique_ptr<SnapshotGraph> cached;
  if (snapshots) {
    NodeQueryOptions asked;
    asked.nodes = Array::make(DType::kU64, {static_cast<std::int64_t>(seeds.size())}).or_throw();
    std::ranges::copy(seeds, asked.nodes.as<std::uint64_t>().begin());
    asked.batch_size = static_cast<std::int64_t>(work.batch_size);
    const NodeQueries queries(*base.graph.schema, std::move(asked), nullptr);
    const TrialBatches trials{.fanout = work.fanout, .key = RandomKey(1), .queries = &queries};
    cached = SnapshotGraph::make(base.graph, options, trials, &kept).or_throw();
  }
  result.prepare_seconds = seconds_since(start);
  const TopologyStats before = base.stats();
  result.bytes_prepare = before.bytes_read;
  const std::uint64_t half = work.appended ? work.num_batches / 2 : work.num_batches;

  const auto begun = Clock::now();
  result.edges = sample(cached ? cached->graph() : base.graph, work, order, 0, half, workspace);
  result.read = base.stats() - before;
  std::optional<Opened> later;
  if (work.appended) {
    later.emplace(graph.later(), how, kept);
    if (cached) cached->update(later->graph).or_throw();
    for (auto& relation : base.graph.relations) relation.reset();
    const SamplerGraph& from = cached ? cached->graph() : later->graph;
    result.edges += sample(from, work, order, half, work.num_batches, workspace);
    result.read += later->stats();
  }
  result.seconds = seconds_since(begun);
  result.memory = kept.used();
  if (cached) result.snapshot = cached->stats();
  return result;
}

void print_snapshots(const GrowingGraph& graph, const SnapshotWork& work, const std::string& name) {
  SnapshotWork one = work;
  one.options.mode = SnapshotMode::kOff;
  one.placement = Placement::kMemory;
  const SnapshotResult ram = run_snapshot(graph, one);
  one.placement = Placement::kDisk;
  std::uint64_t pages_off = 0;
  const std::pair<SnapshotMode, const char*> modes[] = {{SnapshotMode::kOff, "off"},
                                                        {SnapshotMode::kFull, "full"},
                                                        {SnapshotMode::kRefresh, "refresh"},
                                                        {SnapshotMode::kOnTheFly, "on_the_fly"}};
  for (const auto& [mode, mode_name] : modes) {
    one.options.mode = mode;
    const SnapshotResult result = run_snapshot(graph, one);
    const std::uint64_t pages = result.read.bytes_read / 4096;
    if (mode == SnapshotMode::kOff) pages_off = pages;
    Line line{.name = name + "_" + mode_name,
              .work = static_cast<double>(result.edges),
              .unit = "edges",
              .seconds = result.seconds};
    line.peer = "edges in RAM";
    line.peer_rate = static_cast<double>(ram.edges) / ram.seconds;
    line.more["appended"] = one.appended;
    line.more["batches"] = one.num_batches;
    line.more["batch_size"] = one.batch_size;
    line.more["pages_read"] = pages;
    line.more["pages_of_off"] =
        static_cast<double>(pages) / static_cast<double>(std::max<std::uint64_t>(pages_off, 1));
    line.more["bytes_read"] = result.read.bytes_read;
    line.more["requests"] = result.read.requests;
    line.more["prepare_seconds"] = result.prepare_seconds;
    line.more["prepare_bytes"] = result.bytes_prepare;
    line.more["memory"] = result.memory;
    line.more["memory_in_ram"] = ram.memory;
    line.more["snapshot_memory"] = result.snapshot.ram_bytes;
    line.more["records"] = result.snapshot.records;
    line.more["hit_rate"] = result.snapshot.hit_rate();
    line.more["fill_bytes"] = result.snapshot.refresh_bytes;
    line.more["mean_age"] = result.snapshot.mean_age();
    line.more["invalidated"] = result.snapshot.invalidated;
    line.more["distinct_ratio"] = result.snapshot.distinct_ratio();
    print(line);
  }
}

}  // namespace sluice::bench
