#include <sluice/request_latency.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>

namespace sluice {

void RequestLatency::add(std::uint64_t latency_ns) {
  const auto bucket = static_cast<std::size_t>(std::bit_width(latency_ns / 1000 | 1) - 1);
  ++log2_us[std::min(bucket, log2_us.size() - 1)];
  sum_ns += latency_ns;
}

std::uint64_t RequestLatency::requests() const {
  return std::accumulate(log2_us.begin(), log2_us.end(), std::uint64_t{0});
}

double RequestLatency::mean() const {
  const std::uint64_t count = requests();
  return count == 0 ? 0 : 1e-9 * static_cast<double>(sum_ns) / static_cast<double>(count);
}

std::chrono::microseconds RequestLatency::quantile(double share) const {
  const auto wanted = share * static_cast<double>(requests());
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < log2_us.size(); ++i) {
    seen += log2_us[i];
    if (seen > 0 && static_cast<double>(seen) >= wanted)
      return std::chrono::microseconds(std::int64_t{2} << i);
  }
  return std::chrono::microseconds(0);
}

}  // namespace sluice
