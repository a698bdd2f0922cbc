// Conversion of more edges than memory holds: pairs of u32 from one file to a dataset, and int64
// times from another, in a cgroup of the budget, beside what the disk takes for the same bytes: all
// that are read and written, scratch files among them.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

struct ExternalOptions {
  std::string name = "external";  ///< of the case
  std::string dir = ".";
  std::uint64_t edges = 1'000'000'000;
  std::uint64_t scale = 26;  ///< 2^scale nodes
  std::uint64_t threads = 2;
  std::string memory = "1GiB";
  std::string larger = "6GiB";  ///< of the run that the output is compared with; empty: none
  std::uint64_t edge_ids = 0;   ///< 1: ids are kept
  std::uint64_t times = 0;      ///< 1: of events in the order of time, whose times are kept too
  std::string in_cgroup;        ///< scripts/in_cgroup; empty, or not root: no cgroup
};

/// Makes the input, converts it under both budgets as children of its own, compares, and prints a
/// line a run. Throws Error.
void measure_external(const ExternalOptions& options);

/// 67 million events in the order of time, with their ids and times (16 bytes an event), in a tenth
/// of these. Throws Error.
void measure_external_events(ExternalOptions options);

/// One conversion, in this process: `dir`/pairs.u32, and times.i64 where wanted, to `dir`/<name>.
/// Prints one JSON object with seconds and bytes. For measure_external.
void convert_once(const ExternalOptions& options, const std::string& name);

}  // namespace sluice::bench
