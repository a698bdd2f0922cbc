// The disk's own rate: random reads of one size from a file, by a bare io_uring loop.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice::bench {

struct DiskMix {
  std::uint64_t request_bytes = 4096;  ///< whole pages
  std::uint64_t depth = 128;
  std::uint64_t round_bytes = 256 << 20;
  std::uint64_t rounds = 3;  ///< the middle one counts
};

/// Bytes a second. Throws Error where the file cannot be opened with O_DIRECT, or io_uring is not
/// to be had.
double disk_rate(const std::filesystem::path& file, const DiskMix& mix);

}  // namespace sluice::bench
