// One mix of requests, read by the bare disk and by BlockReader in turn, in one run; and the bare
// disk's writes.
#pragma once

#include "bench/storage/scratch_file.h"

#include <cstdint>
#include <string>

namespace sluice::bench {

enum class Order { kRandom, kSequential };
enum class Verify { kOff, kPages };

struct ReadMix {
  std::string name;
  std::uint32_t length;  ///< bytes a request
  Order order;
  Verify verify;
};

struct MixOptions {
  std::uint64_t rounds = 7;       ///< of each contender, one after the other; medians are reported
  std::uint64_t round_mib = 512;  ///< bytes read in a round
  std::uint64_t depth = 128;      ///< requests in flight
};

/// Of one contender: medians over the rounds.
struct MixResult {
  double seconds = 0;
  double cpu_us_per_request = 0;
};

struct MixResults {
  std::uint64_t bytes = 0;     ///< a round
  std::uint64_t requests = 0;  ///< a round
  MixResult disk;
  MixResult reader;
  std::string engine;
  std::uint64_t reader_p99_us = 0;
};

struct WriteResult {
  std::uint64_t bytes = 0;  ///< a round
  std::uint64_t requests = 0;
  double seconds = 0;  ///< median over the rounds
};

/// The bare loop writing 1 MiB pieces in order to a nameless file in `dir`, at most 16 in flight.
WriteResult run_write(const std::string& dir, const MixOptions& options);

enum class Contenders { kDisk, kBoth };

MixResults run_mix(const TestFile& file,
                   const ReadMix& mix,
                   const MixOptions& options,
                   Contenders contenders);

}  // namespace sluice::bench
