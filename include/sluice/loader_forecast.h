// LoaderForecast: what an epoch is expected to ask of the disk, before it is run. An estimate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct LoaderForecast {
  std::uint64_t batches = 0;          ///< of an epoch
  std::uint64_t batches_sampled = 0;  ///< of these, that the estimate stands on
  std::uint64_t windows = 0;
  std::uint64_t windows_swept = 0;   ///< of these, read through gaps
  std::uint64_t windows_packed = 0;  ///< of these, from repacked rows
  std::uint64_t rows_wanted = 0;     ///< distinct rows, summed over windows
  std::uint64_t rows_missed = 0;     ///< of these, not in the cache
  std::uint64_t cache_rows = 0;      ///< that the caches have room for
  std::uint64_t bytes_read = 0;      ///< as LoaderStats counts them
  std::uint64_t bytes_written = 0;
  std::uint64_t requests = 0;      ///< reads, and the writes of repacked rows
  double seconds = 0;              ///< the disk's, kept busy; reading and writing
  std::vector<std::string> plans;  ///< what would be chosen, and why, a line a node type on disk
};

}  // namespace sluice
