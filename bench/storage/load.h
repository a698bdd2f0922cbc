// A data file loaded into memory: read ahead, piece by piece, and by the bare disk.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

struct LoadOptions {
  std::string dir = ".";     ///< a folder is made here, and removed
  std::uint64_t mib = 2048;  ///< of the file
  std::uint64_t rounds = 7;  ///< of each, in turn
};

/// Prints a line: medians over the rounds, each load into memory of its own. `peer` reads a MiB
/// when it is wanted, as a cursor that may go anywhere does.
void load_array_case(const LoadOptions& options);

}  // namespace sluice::bench
