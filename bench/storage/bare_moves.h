// What a gather moved, moved once more by the bare disk: as many bytes in requests of the same
// size, reading and writing at once where the gather did, and nothing else done.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace sluice::bench {

struct Moves {
  std::filesystem::path table;    ///< read in order, from its start
  std::filesystem::path scratch;  ///< folder of the nameless file that is written
  std::uint64_t read = 0;         ///< bytes; of these, as many as were written are read back
  std::uint64_t written = 0;      ///< bytes
  std::uint64_t request_bytes = 1 << 20;  ///< of a read; whole pages
  std::uint64_t write_bytes = 1 << 20;    ///< of a write; whole pages
  std::uint64_t fresh = 0;                ///< bytes of memory that the gather filled
};

struct BareSeconds {
  /// The table read with the writes spread among its reads, then what was written read back.
  double moving = 0;
  /// The same again, while `fresh` bytes of new memory are made as below: the least that anyone who
  /// reads into new memory takes on this machine.
  double moving_and_fresh = 0;
  /// make_fresh() of as many bytes alone.
  double fresh = 0;
};

/// A virtual machine's kernel gives memory that was freed back to its host within some seconds
/// (free page reporting): from then on the host has to make each page again when it is touched.
inline constexpr std::chrono::seconds kUntilFresh{10};

/// All processors touching so many bytes of new memory, a part of its own each: seconds that the
/// kernel (and, in a virtual machine, its host) takes to make those pages.
double make_fresh(std::uint64_t bytes);

/// Throws Error; kUsage where the file system has no O_DIRECT.
BareSeconds move_bare(const Moves& moves);

}  // namespace sluice::bench
