#include "bench/samplers/labor.h"

#include "bench/support/program.h"
#include "core/threads.h"
#include "samplers/group_sampler.h"
#include "samplers/labor_sampler.h"

#include <sluice/dataset.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <memory>
#include <utility>

namespace sluice::bench {
namespace {

constexpr int kThreads = 2;

using Ids = std::vector<std::uint32_t>;

struct Sampled {
  std::vector<Ids> batches;  // distinct nodes each
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  double seconds = 0;
  double cpu_seconds = 0;
};

Sampled sample(const SamplerGraph& graph,
               std::shared_ptr<const SamplerMethod> method,
               const SeedOrder& order,
               std::uint64_t num_batches) {
  ThreadArena arena(kThreads);
  GroupSampler sampler(
      graph, std::move(method), BlockParts{.transpose = false}, RandomKey(1), arena);
  sampler.set_group(num_batches);
  Sampled sampled;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  for (std::uint64_t first = 0; first < num_batches; first += sampler.group_size()) {
    const std::uint64_t end = std::min(num_batches, first + sampler.group_size());
    std::vector<std::vector<std::uint64_t>> seeds;
    std::vector<SampleRequest> requests;
    for (std::uint64_t b = first; b < end; ++b) {
      seeds.push_back(order.batch(0, b % order.num_batches()));
      requests.push_back({.round = b, .index = b, .seeds = seeds.back()});
    }
    for (const Batch& batch : sampler.sample(requests, nullptr).or_throw()) {
      const auto ids = batch.nodes[0].ids.as<std::uint64_t>();
      sampled.batches.emplace_back(ids.begin(), ids.end());
      sampled.nodes += ids.size();
      for (const auto& relations : batch.layers) {
        for (const Block& block : relations)
          sampled.edges += static_cast<std::uint64_t>(block.num_edges());
      }
    }
  }
  sampled.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  sampled.cpu_seconds = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  return sampled;
}

// Rows missed by a cache that drops those used longest ago, by their last mini-batch.
std::uint64_t missed_lru(const std::vector<Ids>& batches, std::size_t nodes, std::size_t slots) {
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> used(nodes, kNever);  // when, in order of use
  std::vector<std::uint32_t> log;                  // who, by when
  std::size_t oldest = 0, held = 0;
  std::uint64_t missed = 0;
  for (const Ids& batch : batches) {
    for (const std::uint32_t id : batch) {
      const bool here = used[id] != kNever;
      missed += here ? 0u : 1u;
      used[id] = log.size();
      log.push_back(id);
      if (here) continue;
      if (held < slots) {
        ++held;
        continue;
      }
      while (used[log[oldest]] != oldest) ++oldest;
      used[log[oldest++]] = kNever;
    }
  }
  return missed;
}

// The same of a cache that keeps, of its rows and the mini-batch's, those used soonest.
std::uint64_t missed_belady(const std::vector<Ids>& batches, std::size_t nodes, std::size_t slots) {
  constexpr auto kNever = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::vector<std::uint32_t>> next(batches.size());
  std::vector<std::uint32_t> soonest(nodes, kNever);
  for (std::size_t b = batches.size(); b-- > 0;) {
    for (const std::uint32_t id : batches[b]) {
      next[b].push_back(soonest[id]);
      soonest[id] = static_cast<std::uint32_t>(b);
    }
  }
  std::vector<bool> here(nodes);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> kept, all;  // next use, id
  std::uint64_t missed = 0;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    all.clear();
    for (const auto& row : kept) {
      if (row.first > b) all.push_back(row);
    }
    for (std::size_t i = 0; i < batches[b].size(); ++i) {
      if (!here[batches[b][i]]) ++missed;
      if (next[b][i] != kNever) all.push_back({next[b][i], batches[b][i]});
    }
    for (const auto& row : kept) here[row.second] = false;
    if (all.size() > slots) {
      std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(slots), all.end());
      all.resize(slots);
    }
    kept.swap(all);
    for (const auto& row : kept) here[row.second] = true;
  }
  return missed;
}

struct EdgeReads {
  std::uint64_t bytes = 0;
  double seconds = 0;
};

EdgeReads read_edges(const BenchGraph& graph,
                     const std::shared_ptr<const SamplerMethod>& method,
                     const SeedOrder& order,
                     const LaborWork& work) {
  const Dataset dataset = Dataset::open(graph.path());
  SamplerGraph opened{&dataset.schema(), {}};
  for (const RelationSchema& relation : dataset.schema().relations) {
    opened.relations.push_back(dataset.topology(
        relation.key(), {.placement = Placement::kDisk, .cache_bytes = work.edge_cache_bytes}));
  }
  EdgeReads reads;
  reads.seconds = sample(opened, method, order, work.disk_batches).seconds;
  for (const auto& topology : opened.relations) reads.bytes += topology->stats().bytes_read;
  return reads;
}

struct Way {
  std::string name;
  std::shared_ptr<const SamplerMethod> method;
  bool from_disk = false;  // too; dependence does not change what is read of edges
};

std::vector<Way> ways_of(const LaborWork& work) {
  std::vector<Way> ways;
  const auto labor = [&](const std::string& name, LaborSamplerOptions options) {
    options.fanout = work.fanout;
    const bool exact = options.count == SharedDraws::Count::kExact;
    ways.push_back({name,
                    std::make_shared<SamplerKind<LaborSampler>>(options),
                    exact && options.dependence == 1 && !options.share_layers});
  };
  const auto neighbor = [&](const std::string& name, std::int64_t dependence) {
    const NeighborSamplerOptions options{.fanout = work.fanout, .dependence = dependence};
    ways.push_back(
        {name, std::make_shared<SamplerKind<NeighborSampler>>(options), dependence == 1});
  };
  neighbor("neighbor", 1);
  neighbor("neighbor_dependence_16", 16);
  neighbor("neighbor_dependence_64", 64);
  labor("labor", {});
  labor("labor_dependence_16", {.dependence = 16});
  labor("labor_dependence_64", {.dependence = 64});
  labor("labor_poisson", {.count = SharedDraws::Count::kPoisson});
  labor("labor_share_layers", {.share_layers = true});
  labor("labor_hub_degree", {.hub_degree = static_cast<std::int64_t>(work.hub_degree)});
  return ways;
}

}  // namespace

void print_labor(const BenchGraph& graph, const LaborWork& work, const std::string& name) {
  const SeedOrder order(graph.seeds(), work.batch_size, Shuffle::kEveryEpoch, RandomKey(1));
  const auto nodes = static_cast<std::size_t>(graph.graph().schema->nodes.at(0).count);
  const auto slots = static_cast<std::size_t>(work.cache_share * static_cast<double>(nodes));
  const auto batches = static_cast<double>(work.num_batches);
  for (const Way& way : ways_of(work)) {
    const Sampled sampled = sample(graph.graph(), way.method, order, work.num_batches);
    Line line{.name = name + "/" + way.name,
              .work = static_cast<double>(sampled.edges),
              .unit = "edges",
              .seconds = sampled.seconds};
    line.more["batches"] = work.num_batches;
    line.more["batch_size"] = work.batch_size;
    line.more["nodes_per_batch"] = static_cast<double>(sampled.nodes) / batches;
    line.more["edges_per_batch"] = static_cast<double>(sampled.edges) / batches;
    line.more["cache_rows"] = slots;
    line.more["missed_per_batch_lru"] =
        static_cast<double>(missed_lru(sampled.batches, nodes, slots)) / batches;
    line.more["missed_per_batch_belady"] =
        static_cast<double>(missed_belady(sampled.batches, nodes, slots)) / batches;
    line.more["cpu_seconds_per_batch"] = sampled.cpu_seconds / batches;
    if (way.from_disk) {
      const EdgeReads reads = read_edges(graph, way.method, order, work);
      line.more["disk_batches"] = work.disk_batches;
      line.more["disk_bytes_per_batch"] =
          static_cast<double>(reads.bytes) / static_cast<double>(work.disk_batches);
      line.more["disk_seconds_per_batch"] = reads.seconds / static_cast<double>(work.disk_batches);
    }
    print(line);
  }
}

}  // namespace sluice::bench
