// Edges that a mini-batch's blocks must not have: those that its queries ask for.
#pragma once

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/query.h>

#include <span>

namespace sluice {

/// Takes the edges out of all layers of a batch, by their ends and relation; all of a pair where
/// the graph has it several times. They are drawn first, so that a node may keep fewer than its
/// fanout. Transposes must not have been made. Charged to `ledger` as "sampler workspace". Errors:
/// kResource.
Result<void> exclude_edges(Batch& batch, std::span<const EdgePairs> excluded, MemoryLedger* ledger);

}  // namespace sluice
