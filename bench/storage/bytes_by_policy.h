// Case bytes_by_policy: bytes an epoch moves under every policy and plan, beside two peers'
// policies.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

struct PolicyOptions {
  std::string dataset;       ///< prepared; empty: an R-MAT graph made for the run
  std::string dir = ".";     ///< where that is made
  std::uint64_t scale = 22;  ///< of that
  std::uint64_t row_bytes = 512;
  std::uint64_t cache_percent = 10;  ///< of the table
};

/// Prints one line a policy and plan.
void bytes_by_policy(const PolicyOptions& options);

}  // namespace sluice::bench
