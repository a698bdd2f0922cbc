// RequestLatency: how long reads of a disk took, from being handed over to having arrived. A
// value; sums of counters that only grow.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace sluice {

struct RequestLatency {
  std::uint64_t sum_ns = 0;
  /// Bucket i counts requests of [2^i, 2^(i+1)) microseconds; the first has all below, the last all
  /// above.
  std::array<std::uint64_t, 32> log2_us{};

  void add(std::uint64_t latency_ns);
  RequestLatency& operator+=(const RequestLatency& more);

  std::uint64_t requests() const;
  /// Seconds; 0 without requests.
  double mean() const;
  /// The latency below which `share` (0..1) of the requests lie, as the upper bound of its bucket.
  std::chrono::microseconds quantile(double share) const;

  friend bool operator==(const RequestLatency&, const RequestLatency&) = default;
};

}  // namespace sluice
