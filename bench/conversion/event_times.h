// When events of the benchmarks are: in order, some of them together.
#pragma once

#include <cstdint>

namespace sluice::bench {

inline constexpr std::uint64_t kEventsATick = 4;  // so that there are ties
inline constexpr std::int64_t kFirstTick = 1'600'000'000;

inline std::int64_t event_time(std::uint64_t event) {
  return kFirstTick + static_cast<std::int64_t>(event / kEventsATick);
}

}  // namespace sluice::bench
