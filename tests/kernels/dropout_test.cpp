#include "kernels/support.h"

#include "kernels/dropout.h"

#include <cmath>

using namespace sluice;
using namespace sluice::testing;
using kernels::Executor;

namespace {

constexpr std::int64_t kCount = 200'001;  // odd: the last draw serves one element

std::vector<float> dropped_ones(RandomKey key, double rate, const Executor& executor = {}) {
  std::vector<float> values(kCount, 1.0f);
  kernels::dropout(executor, key, rate, values.data(), values.data(), kCount);
  return values;
}

}  // namespace

TEST_CASE("dropout drops its share, evenly over even and odd places, and keeps the mean") {
  for (const double rate : {0.1, 0.5, 0.9}) {
    const auto values = dropped_ones(RandomKey(1), rate);
    double dropped[2] = {}, sum = 0, both = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      dropped[i % 2] += values[i] == 0;
      sum += values[i];
      if (i > 0) both += values[i] == 0 && values[i - 1] == 0;
      if (values[i] != 0) REQUIRE(values[i] == static_cast<float>(1 / (1 - rate)));
    }
    const double half = kCount / 2.0, sigma = std::sqrt(rate * (1 - rate) / half);
    CHECK(std::abs(dropped[0] / half - rate) < 5 * sigma);
    CHECK(std::abs(dropped[1] / half - rate) < 5 * sigma);
    CHECK(sum / kCount == doctest::Approx(1).epsilon(5 * sigma / (1 - rate)));
    CHECK(both / kCount == doctest::Approx(rate * rate).epsilon(0.05));  // neighbours independent
  }
}

TEST_CASE("the mask is a function of the key alone") {
  const auto expected = dropped_ones(RandomKey(2), 0.5);
  for (const int threads : {2, 5}) {
    ThreadArena arena(threads);
    CHECK(dropped_ones(RandomKey(2), 0.5, {&arena}) == expected);
  }
  CHECK(dropped_ones(RandomKey(3), 0.5) != expected);
  CHECK(dropped_ones(RandomKey(4), 0) == std::vector<float>(kCount, 1.0f));
}
