// How well counts fit what was expected of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace sluice::test {

/// The sum of (count - expected)^2 / expected over all cells.
inline double chi_square(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  return sum;
}

/// What a chi-square of so many degrees of freedom exceeds once in 1,000 runs (Wilson and Hilferty
/// 1931).
inline double chi_square_limit(double degrees) {
  const double spread = 2 / (9 * degrees);
  return degrees * std::pow(1 - spread + 3.0902 * std::sqrt(spread), 3);
}

}  // namespace sluice::test
