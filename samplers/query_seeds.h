// Seeds of a mini-batch of queries: the nodes that queries name, or these at the queries' times,
// each once, and where each is asked for among them.
//
// Rows are given out in the order in which the ends name nodes.
#pragma once

#include <sluice/array.h>
#include <sluice/memory.h>
#include <sluice/query.h>

#include <cstddef>
#include <span>

namespace sluice {

/// Nodes of one type that queries name: an entry a query, or several.
struct NamedNodes {
  const Array& nodes;  ///< u64, kNoNode for nobody; without a shape: none are named
  std::size_t type;    ///< index into QueryBatch::seeds
  Array& rows;         ///< made: i64 of the same shape, among the type's seeds; -1 for nobody
};

/// Seeds are nodes alone: QueryBatch::seeds. @pre batch.seeds has an entry a node type
Result<void> list_seeds(std::span<const NamedNodes> named, QueryBatch& batch, MemoryLedger* ledger);

enum class SeedEvents {
  kNone,
  kOwn  ///< a node is a seed for each event that it is asked about with: QueryBatch::seed_events
};

/// Seeds are nodes at the times of the queries that name them, which are of one size an end:
/// QueryBatch::seed_times too. @pre batch.queries has times, and for kOwn ids
Result<void> list_timed_seeds(std::span<const NamedNodes> named,
                              SeedEvents events,
                              QueryBatch& batch,
                              MemoryLedger* ledger);

}  // namespace sluice
