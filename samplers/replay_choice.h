// Which old nodes a replay buffer keeps, and for how many each stands.
//
// Deterministic: a function of the graph and the key, whatever the threads. Torch-free.
#pragma once

#include "samplers/replay_graph.h"

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/random.h>

#include <cstdint>
#include <span>

namespace sluice {

struct ReplayChoice {
  Array nodes;    ///< u64 [k], in the order in which they were chosen
  Array weights;  ///< u64 [k]: how much each stands for, above 0
};

/// So many of the candidates, each alike: those whose draws by the key are least. They weigh the
/// same. Of fewer candidates all. Errors: kResource.
Result<ReplayChoice> choose_uniformly(std::span<const std::uint64_t> candidates,
                                      std::uint64_t count,
                                      RandomKey key,
                                      MemoryLedger* ledger);

/// So many of the candidates, one after the other: each is the one that is the most hops from those
/// chosen before it (no way at all is farthest), of equal ones that with the least draw. So the
/// most hops that a candidate is from a chosen one are at most twice what the best choice would
/// leave (Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985). Each weighs
/// as many candidates as are nearest to it, itself among them; of several nearest the one chosen
/// first counts.
///
/// Takes 20 bytes a node of the graph while it runs, charged as "replay"; a choice's breadth-first
/// search ends where an earlier one is as near. Errors: kResource. @pre candidates distinct, below
/// graph.num_nodes()
Result<ReplayChoice> choose_by_structure(const ReplayGraph& graph,
                                         std::span<const std::uint64_t> candidates,
                                         std::uint64_t count,
                                         RandomKey key,
                                         MemoryLedger* ledger);

}  // namespace sluice
