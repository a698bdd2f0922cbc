// What sharing draws saves: `labor` and `dependence` beside `neighbor`, in nodes, in rows that a
// cache misses, and in bytes of edges on disk.
#pragma once

#include "bench/samplers/sampling.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::bench {

struct LaborWork {
  std::vector<std::int64_t> fanout{15, 10, 5};
  std::uint64_t num_batches = 100;
  std::uint64_t batch_size = 1024;
  double cache_share = 0.1;            ///< of all rows, by number
  std::uint64_t disk_batches = 8;      ///< sampled from disk, together
  std::uint64_t edge_cache_bytes = 0;  ///< of pages of edges
  std::uint64_t hub_degree = 10'000;
};

/// Prints a line a way of sampling.
void print_labor(const BenchGraph& graph, const LaborWork& work, const std::string& name);

}  // namespace sluice::bench
