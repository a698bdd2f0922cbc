// Conversion of a graph in memory to CSC in memory, beside the peers of scripts/bench_peers.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

struct InMemoryOptions {
  std::string dir = ".";  ///< where the peers' input is written
  std::uint64_t scale = 22;
  std::uint64_t threads = 2;
  std::uint64_t rounds = 5;  ///< the middle one counts
  std::string peers;         ///< scripts/bench_peers; empty: no peers
};

/// Prints a line for the conversion without edge ids and one with. Throws Error.
void measure_in_memory(const InMemoryOptions& options);

}  // namespace sluice::bench
