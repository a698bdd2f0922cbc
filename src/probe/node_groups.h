// Accuracy by where nodes stand in the graph: by quartile of their degree, and by how many steps
// away the nearest labelled training node is. Pure functions; thread-safe.
#pragma once

#include "probe/linear_probe.h"
#include "probe/plain_graph.h"

#include <sluice/memory.h>

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::probe {

struct NodeGroup {
  std::string name;         ///< "1", "2", "3+", "unreachable"; "0-2": the degrees of a quartile
  std::uint64_t nodes = 0;  ///< of the tested ones
  double accuracy = 0;      ///< NaN where there are none
};

struct NodeGroups {
  /// Four, or fewer where many nodes have one degree: equal degrees are in one group.
  std::vector<NodeGroup> by_degree;
  /// Always four: 1, 2, 3 or more steps, and unreachable.
  std::vector<NodeGroup> by_distance;
};

/// i64 [n]: steps to the nearest of `from`, 0 at these, -1 where there is no way. Who was reached
/// is charged meanwhile, 4 bytes a node, as "node groups". Throws kResource.
torch::Tensor distances(const PlainGraph& graph, const torch::Tensor& from, MemoryLedger* ledger);

/// What is known of the tested nodes is charged meanwhile, as "node groups". Throws kResource.
/// @param trained i64: the labelled training rows
NodeGroups accuracy_by_group(const ProbedNodes& probed,
                             const PlainGraph& graph,
                             const torch::Tensor& trained,
                             MemoryLedger* ledger);

/// Bytes that accuracy_by_group() takes at most, beside the graph. @param tested how many nodes
std::uint64_t group_bytes(std::uint64_t nodes, std::uint64_t tested);

}  // namespace sluice::probe
