// ReplayGraph: which nodes are linked, whichever way, as lists in memory: what a replay buffer is
// chosen over by structure. Nodes of all types are numbered together, type by type.
//
// Read-only and thread-safe once made. Torch-free.
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/sampler.h>
#include <sluice/samplers/links.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sluice {

/// Calls its argument with the numbers of both ends of each edge; the same edges each time.
using EdgeVisit = std::function<void(std::uint64_t one, std::uint64_t other)>;
using EdgePass = std::function<Result<void>(const EdgeVisit& visit)>;

class ReplayGraph {
 public:
  /// Goes through the edges twice. Charged to `ledger` as "replay": 8 bytes a node, 16 an edge.
  /// Errors: kResource, and what the pass fails with. @pre numbers below num_nodes
  static Result<ReplayGraph> make(std::uint64_t num_nodes,
                                  const EdgePass& pass,
                                  MemoryLedger* ledger);

  std::uint64_t num_nodes() const { return static_cast<std::uint64_t>(ends_.numel()); }
  /// With repeats, where edges are parallel.
  std::span<const std::uint64_t> neighbours(std::uint64_t node) const {
    const auto ends = ends_.as<std::uint64_t>();
    const std::uint64_t first = node == 0 ? 0 : ends[node - 1];
    return neighbours_.as<std::uint64_t>().subspan(first, ends[node] - first);
  }

 private:
  Array ends_;        // u64 [nodes]: where each list ends
  Array neighbours_;  // u64 [2 * edges]
};

/// Links in pieces, in order: calls visit(number, source, target) with the ends' own ids. Errors:
/// what the links fail with.
Result<void> for_each_link(
    const Links& links,
    const std::function<void(std::uint64_t number, std::uint64_t source, std::uint64_t target)>&
        visit);

/// A pass over links. @param destinations the number of their type's first node, where that of
/// sources is 0. The links must outlive it
EdgePass pass_over(const Links& links, std::uint64_t destinations);

/// A pass over all relations. @param first by node type: the number of its first node. The graph
/// must outlive it; buffers are charged to `ledger`
EdgePass pass_over(const SamplerGraph& graph,
                   std::vector<std::uint64_t> first,
                   MemoryLedger* ledger);

}  // namespace sluice
