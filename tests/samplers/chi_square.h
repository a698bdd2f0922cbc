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

/// How far counts are from what weights make of so many trials: below 1, but once in 1,000 runs.
/// Cells of weight 0 must be empty.
inline double fit(const std::vector<double>& counts,
                  const std::vector<double>& weights,
                  double trials) {
  double total = 0;
  for (const double weight : weights) total += weight;
  std::vector<double> found, expected;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (weights[i] == 0 && counts[i] != 0) return INFINITY;
    if (weights[i] == 0) continue;
    found.push_back(counts[i]);
    expected.push_back(trials * weights[i] / total);
  }
  return chi_square(found, expected) / chi_square_limit(static_cast<double>(found.size()) - 1);
}

}  // namespace sluice::test
