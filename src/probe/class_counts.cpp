#include "probe/class_counts.h"

#include <numeric>

namespace sluice::probe {
namespace {

/// The harmonic mean of precision and recall; 0 where nothing was predicted nor true.
double f1(std::int64_t correct, std::int64_t predicted, std::int64_t actual) {
  if (predicted + actual == 0) return 0;
  return 2.0 * static_cast<double>(correct) / static_cast<double>(predicted + actual);
}

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

double ClassCounts::f1_micro() const {
  return f1(sum(correct_), sum(predicted_), sum(actual_));
}

double ClassCounts::f1_macro() const {
  double total = 0;
  std::int64_t present = 0;
  for (std::size_t c = 0; c < actual_.size(); ++c) {
    if (predicted_[c] + actual_[c] == 0) continue;
    total += f1(correct_[c], predicted_[c], actual_[c]);
    ++present;
  }
  return present == 0 ? 0 : total / static_cast<double>(present);
}

}  // namespace sluice::probe
