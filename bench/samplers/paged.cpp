#include "bench/samplers/paged.h"

#include "bench/support/program.h"
#include "core/threads.h"
#include "samplers/group_sampler.h"

#include <sluice/mutex.h>
#include <sluice/samplers/seed_order.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {
namespace {

TopologyStats stats_of(const SamplerGraph& graph) {
  TopologyStats sum;
  for (const auto& topology : graph.relations) {
    const TopologyStats one = topology->stats();
    sum.positions += one.positions;
    sum.page_hits += one.page_hits;
    sum.bytes_read += one.bytes_read;
    sum.requests += one.requests;
  }
  return sum;
}

TopologyStats difference(const TopologyStats& after, const TopologyStats& before) {
  return {after.positions - before.positions,
          after.page_hits - before.page_hits,
          after.bytes_read - before.bytes_read,
          after.requests - before.requests,
          {}};
}

// Samples batches [0, count) in groups; returns their edges.
std::uint64_t run_round(GroupSampler& sampler,
                        const SeedOrder& order,
                        std::uint64_t count,
                        MemoryLedger& ledger) {
  std::uint64_t edges = 0;
  for (std::uint64_t first = 0; first < count; first += sampler.group_size()) {
    const std::uint64_t size = std::min<std::uint64_t>(sampler.group_size(), count - first);
    std::vector<std::vector<std::uint64_t>> seeds;
    std::vector<SampleRequest> requests;
    for (std::uint64_t b = first; b < first + size; ++b) {
      seeds.push_back(order.batch(0, b % order.num_batches()));
      requests.push_back({.round = b, .index = b, .seeds = seeds.back()});
    }
    for (const Batch& batch : sampler.sample(requests, &ledger).or_throw()) {
      for (const auto& relations : batch.layers) {
        for (const Block& block : relations) edges += static_cast<std::uint64_t>(block.num_edges());
      }
    }
  }
  return edges;
}

// A topology that reads only while no other of its turn does.
class InTurn final : public Topology {
 public:
  InTurn(std::shared_ptr<Topology> inner, Mutex& turn) : inner_(std::move(inner)), turn_(turn) {}

  std::uint64_t num_sources() const override { return inner_->num_sources(); }
  std::uint64_t num_targets() const override { return inner_->num_targets(); }
  std::uint64_t num_edges() const override { return inner_->num_edges(); }
  TopologyStats stats() const override { return inner_->stats(); }
  Result<void> ranges(std::span<const std::uint64_t> targets, std::span<EdgeRange> out) override {
    return inner_->ranges(targets, out);
  }
  Result<void> neighbours(std::span<const std::uint64_t> positions,
                          std::span<std::uint64_t> out) override {
    const MutexLock lock(turn_);
    return inner_->neighbours(positions, out);
  }
  Result<void> edge_ids(std::span<const std::uint64_t> positions,
                        std::span<std::uint64_t> out) override {
    const MutexLock lock(turn_);
    return inner_->edge_ids(positions, out);
  }

 private:
  std::shared_ptr<Topology> inner_;
  Mutex& turn_;
};

// Rounds of groups from topologies that are open; what these take is the caller's to say.
PagedResult time_groups(const SamplerGraph& opened,
                        const std::vector<std::uint64_t>& nodes,
                        const SamplingWork& work) {
  MemoryLedger ledger;
  ThreadArena arena(work.threads);
  GroupSampler sampler(opened, {work.fanout}, work.parts, RandomKey(1), arena);
  const SeedOrder order(nodes, work.batch_size, Shuffle::kEveryEpoch, RandomKey(1));

  PagedResult result;
  (void)run_round(sampler, order, work.num_batches, ledger);
  std::vector<double> seconds, cpu_seconds;
  for (std::uint64_t r = 0; r < work.rounds; ++r) {
    const TopologyStats before = stats_of(opened);
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    result.edges = run_round(sampler, order, work.num_batches, ledger);
    cpu_seconds.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    result.read = difference(stats_of(opened), before);
  }
  result.seconds = median(seconds);
  result.cpu_seconds = median(cpu_seconds);
  result.workspace_bytes = ledger.used();
  return result;
}

}  // namespace

PagedResult run_groups(const BenchGraph& graph,
                       const SamplingWork& work,
                       const TopologyOptions& options) {
  MemoryLedger ledger;
  const Dataset dataset = Dataset::open(graph.path(), {.ledger = &ledger});
  SamplerGraph opened{&dataset.schema(), {}};
  for (const RelationSchema& relation : dataset.schema().relations)
    opened.relations.push_back(dataset.topology(relation.key(), options));
  PagedResult result = time_groups(opened, graph.seeds(), work);
  result.topology_bytes = ledger.used();
  return result;
}

PagedResult run_relations(const BenchGraph& graph,
                          const SamplingWork& work,
                          const TopologyOptions& options,
                          std::size_t relations,
                          Turns turns) {
  MemoryLedger ledger;
  Mutex turn;
  const Dataset dataset = Dataset::open(graph.path(), {.ledger = &ledger});
  GraphSchema schema = dataset.schema();
  const RelationSchema first = schema.relations.at(0);
  schema.relations.assign(relations, first);
  SamplerGraph opened{&schema, {}};
  for (std::size_t i = 0; i < relations; ++i) {
    schema.relations[i].name = fmt::format("r{}", i);
    std::shared_ptr<Topology> topology = dataset.topology(first.key(), options);
    if (turns == Turns::kOneByOne) topology = std::make_shared<InTurn>(std::move(topology), turn);
    opened.relations.push_back(std::move(topology));
  }
  PagedResult result = time_groups(opened, graph.seeds(), work);
  result.topology_bytes = ledger.used();
  return result;
}

}  // namespace sluice::bench
