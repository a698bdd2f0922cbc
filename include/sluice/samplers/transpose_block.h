// The transpose of a block: its edges grouped by source, so that gradients flow back in a fixed
// order.
#pragma once

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/memory.h>

namespace sluice {

/// Fills the block's transposed arrays from its offsets and neighbours, by a stable counting sort.
/// Charged as "batches". @pre num_sources and num_targets are set, edges < 2^31. Errors: kResource.
Result<void> transpose_block(Block& block, MemoryLedger* ledger);

}  // namespace sluice
