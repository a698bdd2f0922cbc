#include "prep/import/times.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice {

void scaled_times(std::span<const double> values,
                  double scale,
                  const IdPlace& place,
                  std::vector<std::int64_t>& times) {
  constexpr double kMost = 9.2e18;
  times.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double time = std::nearbyint(values[i] * scale);
    if (!(std::abs(time) < kMost)) {
      throw place.table.value_error(
          place.first_row + i,
          place.column,
          fmt::format("the time {} times {} is no 64-bit number", values[i], scale),
          "choose a smaller scale");
    }
    times[i] = static_cast<std::int64_t>(time);
  }
}

}  // namespace sluice
