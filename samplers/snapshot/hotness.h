// How often each node is expected to be asked for its in-edges, and which nodes are therefore worth
// a record.
//
// Both measures are samples of uses: lists of node ids in which a node stands as often as it was
// met, so that they take 8 bytes a use whatever the graph's size, and nothing a node.
#pragma once

#include "samplers/snapshot/snapshot_topology.h"

#include <sluice/sampler.h>
#include <sluice/samplers/charged_buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// Of one node type: ids of nodes that were asked for, with repeats.
struct NodeUses {
  ChargedBuffer<std::uint64_t> ids;
  std::size_t count = 0;

  /// Charged as "sampler workspace". Errors: kResource.
  Result<void> add(std::span<const std::uint64_t> more, MemoryLedger* ledger);
};

/// Uses by node type: the sources of up to `most` edges, in stretches spread evenly over each
/// relation. A node that many edges come from is often found, and then asked for.
Result<std::vector<NodeUses>> uses_by_degree(const SamplerGraph& graph,
                                             std::uint64_t most,
                                             MemoryLedger* ledger);

/// The mini-batches to come. Look-ahead samples some of the first epoch's.
struct TrialBatches {
  std::vector<std::int64_t> fanout;                       ///< without a method
  std::shared_ptr<const SamplerMethod> method = nullptr;  ///< null: uniform neighbours by `fanout`
  RandomKey key{0};                                       ///< of the run's seed
  const QuerySource* queries = nullptr;

  /// SamplerMethod::most_edges().
  std::int64_t most_edges() const;
};

/// Uses by node type: the targets of up to kTrials mini-batches spread over the epoch, until there
/// are `most`.
Result<std::vector<NodeUses>> uses_by_look_ahead(const SamplerGraph& graph,
                                                 const TrialBatches& trials,
                                                 std::uint64_t most,
                                                 MemoryLedger* ledger);
inline constexpr std::uint64_t kTrials = 48;

/// The nodes, ascending, whose records save most reads a byte, as many as fit the setup's capacity;
/// `uses` is sorted meanwhile. A use saves as many reads as the node's list has pages, at most
/// `fanout`. A pure function of its arguments and the graph.
Result<std::vector<std::uint64_t>> choose_hot(Topology& topology,
                                              const SnapshotTopology::Setup& setup,
                                              std::uint64_t fanout,
                                              NodeUses& uses);

}  // namespace sluice
