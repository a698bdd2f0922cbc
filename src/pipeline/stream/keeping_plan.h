// How mini-batches are sampled while an epoch's windows are kept, and nothing else takes the
// memory.
#pragma once

#include "pipeline/stream/batch_sampler.h"
#include "pipeline/stream/window_source.h"

#include <cstddef>
#include <cstdint>

namespace sluice {

struct KeepingPlan {
  std::uint64_t edge_bytes = 0;  ///< of edges that are held meanwhile; 0: they are read by pages
  std::size_t group = 1;         ///< batches that share reads
  std::size_t ahead = 1;         ///< batches sampled at once where none are shared
  std::uint64_t staging = 0;     ///< that each relation on disk is lent; 0: none
};

/// @param bytes of memory: the more, the more batches share their reads
/// @param block_bytes of a mini-batch
KeepingPlan plan_keeping(const BatchSampler& sampler,
                         std::uint64_t bytes,
                         std::uint64_t block_bytes,
                         const WindowLimits& limits);

/// Memory that makes keeping as fast as it gets; all of it where edges are on disk.
std::uint64_t wish_for_keeping(const BatchSampler& sampler,
                               std::uint64_t block_bytes,
                               const WindowLimits& limits);

}  // namespace sluice
