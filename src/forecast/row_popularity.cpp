#include "forecast/row_popularity.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr double kLeastChance = 1e-6;
constexpr std::size_t kClassesADecade = 12;
constexpr int kSteps = 2000;

// 0, and then in equal ratios up to 1.
std::vector<double> grid() {
  std::vector<double> chances{0};
  double chance = kLeastChance;
  const double ratio = std::pow(10.0, 1.0 / static_cast<double>(kClassesADecade));
  while (chance < 1) {
    chances.push_back(chance);
    chance *= ratio;
  }
  chances.push_back(1);
  return chances;
}

double log_choose(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

double binomial(std::size_t n, std::size_t k, double chance) {
  if (chance <= 0) return k == 0 ? 1 : 0;
  if (chance >= 1) return k == n ? 1 : 0;
  return std::exp(log_choose(n, k) + static_cast<double>(k) * std::log(chance) +
                  static_cast<double>(n - k) * std::log1p(-chance));
}

}  // namespace

RowPopularity::RowPopularity(std::span<const std::uint64_t> asked_by)
    : trials_(asked_by.size() - 1), chances_(grid()) {
  for (const std::uint64_t rows : asked_by) rows_ += static_cast<double>(rows);
  for (const double chance : chances_) {
    for (std::size_t j = 0; j <= trials_; ++j) likelihoods_.push_back(binomial(trials_, j, chance));
  }
  shares_.assign(chances_.size(), 1 / static_cast<double>(chances_.size()));
  fit(asked_by);
}

void RowPopularity::fit(std::span<const std::uint64_t> asked_by) {
  std::vector<double> next(shares_.size());
  for (int step = 0; step < kSteps; ++step) {
    std::ranges::fill(next, 0.0);
    for (std::size_t j = 0; j <= trials_; ++j) {
      if (asked_by[j] == 0) continue;
      double all = 0;
      for (std::size_t c = 0; c < shares_.size(); ++c) all += shares_[c] * likelihood(c, j);
      const double weight = static_cast<double>(asked_by[j]) / rows_ / all;
      for (std::size_t c = 0; c < shares_.size(); ++c)
        next[c] += weight * shares_[c] * likelihood(c, j);
    }
    shares_.swap(next);
  }
}

std::size_t RowPopularity::draw_class(std::size_t asked_by, double uniform) const {
  double all = 0;
  for (std::size_t c = 0; c < shares_.size(); ++c) all += shares_[c] * likelihood(c, asked_by);
  double left = uniform * all;
  std::size_t last = 0;
  for (std::size_t c = 0; c < shares_.size(); ++c) {
    const double own = shares_[c] * likelihood(c, asked_by);
    if (own == 0) continue;
    last = c;
    if (left < own) return c;
    left -= own;
  }
  return last;  // rounding
}

double RowPopularity::distinct(double batches) const {
  double sum = 0;
  for (std::size_t c = 0; c < shares_.size(); ++c) {
    const double missed = chances_[c] >= 1 ? 0 : std::exp(batches * std::log1p(-chances_[c]));
    sum += shares_[c] * (1 - (batches > 0 ? missed : 1));
  }
  return rows_ * sum;
}

}  // namespace sluice
