// Draws of which a few numbers take most: small ones, as hubs of a graph.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice {

/// A number below `count`, by a uniform one in [0, 1). The share of the k-th falls as k to the
/// power 1 / skew - 1; with a skew of 1 all are alike. Products alone: a power may differ in its
/// last bit between machines. @pre count > 0
inline std::uint64_t skewed_below(std::uint64_t count, std::int64_t skew, double uniform) {
  double power = uniform;
  for (std::int64_t i = 1; i < skew; ++i) power *= uniform;
  const auto number = static_cast<std::uint64_t>(power * static_cast<double>(count));
  return std::min(number, count - 1);
}

}  // namespace sluice
