// What the operations over blocks are measured on: a sampled block, and a whole graph as one block.
#pragma once

#include <sluice/batch.h>
#include <sluice/dataset.h>

#include <cstdint>
#include <filesystem>

namespace sluice::bench {

/// The outermost block of a mini-batch of `seeds` seeds, fanout 10/10. @param ledger must outlive
/// it
Block sampled_block(const Dataset& dataset, std::uint64_t seeds, int threads, MemoryLedger& ledger);

/// All edges of a homogeneous graph of fewer than 2^31: every node is a source and a target.
Block whole_graph(const Dataset& dataset);

/// Writes offsets.i64, neighbours.i32 and sizes (sources, targets) into `folder`, for the peers.
void write_block(const std::filesystem::path& folder, const Block& block);

}  // namespace sluice::bench
