#include "probe/ranking_areas.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace sluice::probe {

RankingAreas ranking_areas(std::span<const float> wanted, std::span<const float> others) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (wanted.empty() || others.empty()) return {kNone, kNone};
  double above = 0, precision = 0;
  std::size_t i = 0, j = 0;
  while (i < wanted.size() || j < others.size()) {
    const float score = std::max(i < wanted.size() ? wanted[i] : -HUGE_VALF,
                                 j < others.size() ? others[j] : -HUGE_VALF);
    const std::size_t first_wanted = i, first_other = j;
    while (i < wanted.size() && wanted[i] == score) ++i;
    while (j < others.size() && others[j] == score) ++j;
    const auto at_or_above = static_cast<double>(i);
    const auto ties = static_cast<double>(i - first_wanted);
    // Others at this score are beaten by all above it, and by half of those at it.
    above += static_cast<double>(j - first_other) * (at_or_above - ties / 2);
    precision += ties * at_or_above / (at_or_above + static_cast<double>(j));
  }
  const auto count = static_cast<double>(wanted.size());
  return {above / (count * static_cast<double>(others.size())), precision / count};
}

}  // namespace sluice::probe
