// The disk's own rate of writing: large direct writes, front to back, from several threads.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice::bench {

struct WriteMix {
  std::uint64_t request_bytes = 4 << 20;
  std::uint64_t bytes = std::uint64_t{2} << 30;
  int depth = 4;
};

/// Bytes a second into a file without a name in `folder`, flushed at the end. Throws Error.
double write_rate(const std::filesystem::path& folder, const WriteMix& mix);

}  // namespace sluice::bench
