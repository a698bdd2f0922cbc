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
  std::uint64_t read = 0;       ///< internal: bytes of the contender `bare`, as the next three
  std::uint64_t written = 0;
  std::uint64_t write = 0;
  std::uint64_t request = 1 << 20;
  std::uint64_t fresh = 0;  ///< internal: bytes of new memory, made beside or left at hand
  std::string trace;        ///< where our contender's trace goes; empty: none
};

/// Prints a line a contender; of_peer is against the faster peer, of_disk against the bare disk
/// moving as much in requests of the same size, in turn with ours. Ours: the middle of the rounds.
void gather_case(const std::string& name,
                 const std::string& ids,
                 std::uint64_t budget,
                 const GatherOptions& options);

/// Runs one contender and prints a JSON object that gather_case reads.
void run_contender(const GatherOptions& options);

}  // namespace sluice::bench
