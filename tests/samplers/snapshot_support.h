// Snapshot caches over test graphs, and groups of mini-batches drawn from them.
#pragma once

#include "sampler_support.h"

#include "samplers/group_sampler.h"
#include "samplers/snapshot/snapshot_graph.h"

#include <memory>
#include <span>
#include <vector>

namespace sluice::test {

inline constexpr SnapshotMode kModes[] = {
    SnapshotMode::kFull, SnapshotMode::kRefresh, SnapshotMode::kOnTheFly};
inline constexpr SnapshotMode kDrawnModes[] = {SnapshotMode::kRefresh, SnapshotMode::kOnTheFly};

/// Mini-batches that follow each other, with the seeds they refer to.
struct Requests {
  std::vector<std::vector<std::uint64_t>> seeds;
  std::vector<SampleRequest> list;

  Requests(const TestGraph& graph, std::size_t count, std::size_t batch_size, RandomKey key)
      : seeds(count), list(count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t type = key.below(graph.schema.nodes.size(), i);
      seeds[i] = random_seeds(graph, type, batch_size, key.with(i));
      list[i] = {.epoch = 1, .round = i, .index = i, .seeds = {seeds[i], type}};
    }
  }
};

/// A cache over `graph` that makes mini-batches of this fanout; all edges fit by default.
inline std::unique_ptr<SnapshotGraph> snapshot_of(const SamplerGraph& graph,
                                                  const SnapshotOptions& options,
                                                  const std::vector<std::int64_t>& fanout,
                                                  RandomKey key,
                                                  MemoryLedger* ledger = nullptr) {
  return SnapshotGraph::make(graph, options, {.fanout = fanout, .key = key}, ledger).or_throw();
}

/// Hashes of the batches of all requests, `size` of them at a time.
inline std::vector<std::uint64_t> group_hashes(const SamplerGraph& graph,
                                               const std::vector<std::int64_t>& fanout,
                                               RandomKey key,
                                               std::span<const SampleRequest> requests,
                                               std::size_t size,
                                               int threads,
                                               BlockParts parts = kAllParts) {
  ThreadArena arena(threads);
  GroupSampler sampler(graph, {fanout}, parts, key, arena);
  std::vector<std::uint64_t> hashes;
  while (!requests.empty()) {
    const std::size_t count = std::min(size, requests.size());
    for (const Batch& batch : sampler.sample(requests.first(count), nullptr).or_throw())
      hashes.push_back(hash_batch(batch));
    requests = requests.subspan(count);
  }
  return hashes;
}

}  // namespace sluice::test
