// The kernels over lists of a mini-batch, on the GPU alone: bytes of rows that they have to read
// and write, a second. To be set beside what the GPU's memory gives.
#pragma once

#include "bench/gpu/gpu.h"
#include "bench/support/program.h"

#include <cstdint>

namespace sluice::bench {

struct SegmentSizes {
  std::uint64_t targets = 100'000;
  std::uint64_t sources = 500'000;
  std::uint64_t degree = 10;
};

/// Adds GPU/segment_sum, segment_weighted_sum, segment_max and edge_softmax, for `dim` columns.
/// All are borrowed.
void add_segment_cases(Program& program,
                       Gpu& gpu,
                       const SegmentSizes& sizes,
                       const std::uint64_t& dim,
                       const std::uint64_t& rounds);

}  // namespace sluice::bench
