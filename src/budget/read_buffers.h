// The size of the buffers that rows on disk are read through.
#pragma once

#include <sluice/units.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sluice {

/// Bytes for each of `tables` feature tables on disk, of which one is read at a time.
///
/// They take a small share of a small budget, many of them together an eighth, and beyond 16 MiB
/// bring little there. A large budget has large windows and caches, which are read in long sweeps:
/// a disk may complete 40 MiB of requests at once, and then has nothing to do until the first of
/// them were copied out. With 96 MiB under way a sweep of 8 GiB took nearly a tenth less than with
/// 40 (bench/storage).
inline std::uint64_t read_buffer_bytes(std::uint64_t budget, std::size_t tables) {
  const std::uint64_t sharing = std::max<std::size_t>(tables, 1);
  if (budget < kGiB) {
    const std::uint64_t share = std::min(budget / 32, budget / 8 / sharing);
    return std::clamp<std::uint64_t>(share, 256 * kKiB, 16 * kMiB);
  }
  const std::uint64_t all = std::min<std::uint64_t>(budget / 25, 96 * kMiB);
  return std::max<std::uint64_t>(all / sharing, 16 * kMiB);
}

}  // namespace sluice
