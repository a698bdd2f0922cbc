// Cases gather_*: rows known ahead, delivered batch by batch by us and by two peers, each a process
// in one memory cgroup of budget + 300 MiB, cold.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

struct GatherOptions {
  std::string dir = ".";         ///< where the table is made and kept, and scratch goes
  std::uint64_t rows = 1 << 24;  ///< of 512 bytes
  std::uint64_t batches = 40;
  std::string contender;        ///< internal: what a child process runs
  std::uint64_t budget = 0;     ///< internal: bytes
  std::string ids = "uniform";  ///< internal: uniform or zipf
  std::string trace;            ///< where our contender's trace goes; empty: none
};

/// Prints a line a contender; of_peer is against the faster peer.
void gather_case(const std::string& name,
                 const std::string& ids,
                 std::uint64_t budget,
                 const GatherOptions& options);

/// Runs one contender and prints a JSON object that gather_case reads.
void run_contender(const GatherOptions& options);

}  // namespace sluice::bench
