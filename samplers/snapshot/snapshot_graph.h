// SnapshotGraph: the relations of a graph, each behind a snapshot cache, made from options.
//
// Made once for a run, before mini-batches are sampled. What it keeps and answers depends on the
// options, the seed and the graph: never on the budget; where it does not fit, it is refused.
#pragma once

#include "samplers/snapshot/hotness.h"
#include "samplers/snapshot/snapshot_topology.h"

#include <sluice/sampler.h>
#include <sluice/snapshot.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class SnapshotGraph {
 public:
  /// @param graph the relations as they are; resident ones stay so where records are whole lists,
  /// and cost memory where they are not
  /// @param trials of the mini-batches to come: their fanout sizes records
  /// Charged as "snapshot", and scratch as "sampler workspace". Errors: kUsage for a cache larger
  /// than the graph, or records of a fanout that is not bounded; kResource where the budget has no
  /// room; what the topologies fail with.
  static Result<std::unique_ptr<SnapshotGraph>> make(const SamplerGraph& graph,
                                                     const SnapshotOptions& options,
                                                     const TrialBatches& trials,
                                                     MemoryLedger* ledger);

  /// To be sampled from.
  const SamplerGraph& graph() const { return graph_; }
  const SnapshotOptions& options() const { return options_; }
  SnapshotStats stats() const;

  /// As SnapshotTopology::update, of all relations. @param newer of the same schema
  /// @param changed by relation; may be empty
  Result<void> update(const SamplerGraph& newer,
                      std::span<const std::vector<std::uint64_t>> changed = {});

  /// What a graph's edges and offsets take in RAM.
  static std::uint64_t bytes_of(const SamplerGraph& graph);

 private:
  SnapshotGraph() = default;

  SnapshotOptions options_;
  SamplerGraph graph_;
  std::vector<std::shared_ptr<SnapshotTopology>> snapshots_;  // by relation; null: none is hot
};

}  // namespace sluice
