// Events that came later, merged into a temporal graph: the graph that building all of them at once
// would have given.
#pragma once

#include "samplers/temporal_graph.h"

#include <sluice/memory.h>

#include <cstdint>
#include <span>

namespace sluice {

/// An in-edge of `target`. An event of an undirected relation is two of them under one id.
struct TemporalEvent {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
  std::int64_t time = 0;
  std::uint64_t id = 0;
};

/// A new graph with the base's events and these, in any order and at any time, late ones included.
/// The base stays as it is. One pass over both, O(E + A log A); the new arrays are charged to
/// `ledger` as "topology". @param num_nodes nodes with lists from now on: at least the base's
/// Errors: kUsage for a base without edge ids, whose ids would change with their positions, and for
/// a target that is not below num_nodes; kResource.
Result<TemporalGraph> append_events(const TemporalGraph& base,
                                    std::span<const TemporalEvent> events,
                                    std::uint64_t num_nodes,
                                    MemoryLedger* ledger);

}  // namespace sluice
