#include "bench/samplers/sampling.h"

#include "bench/support/program.h"
#include "samplers/neighbor_sampler.h"

#include <sluice/memory.h>
#include <sluice/samplers/seed_order.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <memory>
#include <thread>

namespace sluice::bench {
namespace {

// One thread's sampler, kept from round to round as a run keeps it.
class Worker {
 public:
  Worker(const BenchGraph& graph, const SamplingWork& work, MemoryLedger& ledger)
      : sampler_(graph.graph(), {work.fanout}, work.parts, RandomKey(1)), ledger_(ledger) {}

  void run(const SeedOrder& order, std::atomic<std::uint64_t>& next, std::uint64_t num_batches) {
    edges = nodes = 0;
    for (std::uint64_t b; (b = next++) < num_batches;) {
      const std::vector<std::uint64_t> seeds = order.batch(0, b % order.num_batches());
      const Batch batch =
          sampler_.sample({.round = b, .index = b, .seeds = seeds}, &ledger_).or_throw();
      for (const auto& relations : batch.layers) {
        for (const Block& block : relations) edges += static_cast<std::uint64_t>(block.num_edges());
      }
      for (const BatchNodes& type : batch.nodes)
        nodes += static_cast<std::uint64_t>(type.ids.numel());
    }
  }

  std::uint64_t edges = 0;
  std::uint64_t nodes = 0;

 private:
  NeighborSampler sampler_;
  MemoryLedger& ledger_;
};

struct RoundTimes {
  double seconds = 0;
  double cpu_seconds = 0;
};

RoundTimes run_round(std::vector<std::unique_ptr<Worker>>& workers,
                     const SeedOrder& order,
                     std::uint64_t num_batches) {
  std::atomic<std::uint64_t> next = 0;
  std::vector<std::exception_ptr> failures(workers.size());
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (std::size_t w = 0; w < workers.size(); ++w) {
    threads.emplace_back([&, w] {
      try {
        workers[w]->run(order, next, num_batches);
      } catch (...) {
        failures[w] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC};
}

}  // namespace

BenchGraph::BenchGraph(const std::string& path, const std::string& dir, std::uint64_t scale)
    : made_(path, dir, scale) {
  graph_.schema = &dataset().schema();
  for (const RelationSchema& relation : graph_.schema->relations) {
    graph_.relations.push_back(dataset().topology(relation.key()));
  }
  const std::string& type = graph_.schema->nodes.at(0).name;
  std::vector<bool> has_edges(graph_.schema->nodes[0].count);
  for (std::size_t r = 0; r < graph_.relations.size(); ++r) {
    if (graph_.schema->relations[r].target != type) continue;
    const CscView& csc = *graph_.relations[r]->resident();
    for (std::size_t n = 0; n < has_edges.size(); ++n)
      has_edges[n] = has_edges[n] || csc.range(n).degree() != 0;
  }
  for (std::size_t n = 0; n < has_edges.size(); ++n) {
    if (has_edges[n]) seeds_.push_back(n);
  }
}

SeedOrder seed_order(const BenchGraph& graph, const SamplingWork& work) {
  return SeedOrder(graph.seeds(), work.batch_size, Shuffle::kEveryEpoch, RandomKey(1));
}

SamplingResult run_sampling(const BenchGraph& graph, const SamplingWork& work) {
  MemoryLedger ledger;
  const SeedOrder order = seed_order(graph, work);
  std::vector<std::unique_ptr<Worker>> workers;
  workers.reserve(static_cast<std::size_t>(work.threads));
  for (int t = 0; t < work.threads; ++t)
    workers.push_back(std::make_unique<Worker>(graph, work, ledger));
  run_round(workers, order, work.num_batches);
  std::vector<double> seconds, cpu_seconds;
  for (std::uint64_t r = 0; r < work.rounds; ++r) {
    const RoundTimes times = run_round(workers, order, work.num_batches);
    seconds.push_back(times.seconds);
    cpu_seconds.push_back(times.cpu_seconds);
  }
  SamplingResult result{.seconds = median(seconds),
                        .cpu_seconds = median(cpu_seconds),
                        .workspace_bytes = ledger.used()};
  for (const auto& worker : workers) {
    result.edges += worker->edges;
    result.nodes += worker->nodes;
  }
  return result;
}

}  // namespace sluice::bench
