// Epochs of training by a child process of sluice-train, and what it reported of the one in the
// middle, by time: a machine that others use too is slow now and then, and the first epoch alone
// gets its memory from the system.
#pragma once

#include "bench/end_to_end/graph.h"

#include <cstdint>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

namespace sluice::bench {

enum class Features { kMemory, kDisk };

struct EpochRun {
  Features features = Features::kDisk;
  std::uint64_t budget = 0;  ///< [memory] host, bytes
  /// In a memory cgroup of budget + 300 MiB, with a cold page cache; for root.
  bool confined = false;
};

struct EpochResult {
  double seconds = 0;               ///< of the epoch in the middle, its training alone
  std::vector<double> all_seconds;  ///< of all epochs, in their order
  std::uint64_t seeds = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_useful = 0;
  std::uint64_t requests = 0;
  double fetching = 0;  ///< seconds that the reading stage was busy
  std::string bound;
  nlohmann::json memory;  ///< the report's
  nlohmann::json storage;
  nlohmann::json stages;  ///< of the epoch line
};

/// The memory that a cgroup grants beside the budget, for code and libraries.
inline constexpr std::uint64_t kOverheadMib = 300;

/// Trains GraphSAGE in `folder`. Throws Error.
EpochResult run_epoch(const std::filesystem::path& folder,
                      const BenchGraph& graph,
                      const Sizes& sizes,
                      const EpochRun& run);

}  // namespace sluice::bench
