// The numbers that targets share: uniform, and as much alike from step to step as they should be.
#include "chi_square.h"

#include "samplers/source_numbers.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace sluice {
namespace {

TEST_CASE("normal numbers and their shares are those of the C library") {
  for (int i = -800; i <= 800; ++i) {
    const double x = i * 0.01;
    const double below = 0.5 * std::erfc(-x / std::sqrt(2.0));
    CHECK(normal_below(x) == doctest::Approx(below).epsilon(3e-7));
    if (x < 5) CHECK(normal_at(below) == doctest::Approx(x).epsilon(1e-9));
  }
  for (int i = -108; i <= 108; ++i)
    CHECK(portable_exp(i * 0.37) == doctest::Approx(std::exp(i * 0.37)).epsilon(1e-13));
  CHECK(std::isfinite(normal_at(0x1.0p-53)));
  CHECK(std::isfinite(normal_at(1 - 0x1.0p-53)));
}

TEST_CASE("at each step of a passage numbers are uniform, and ranks order them") {
  constexpr std::uint64_t kSeed = 41, kSources = 200'000, kCells = 50;
  INFO("seed ", kSeed);
  for (const double passed : {0.0, 0.125, 0.5, 0.9}) {
    CAPTURE(passed);
    const SourceNumbers numbers(
        RandomKey(kSeed).with(std::uint64_t{1}), RandomKey(kSeed).with(std::uint64_t{2}), passed);
    std::vector<double> cells(kCells);
    for (std::uint64_t source = 0; source < kSources; ++source) {
      const double number = numbers.uniform(source);
      REQUIRE(number > 0);
      REQUIRE(number < 1);
      ++cells[static_cast<std::size_t>(number * kCells)];
      const double before = numbers.uniform(source / 2);
      if (std::fabs(number - before) > 1e-6)
        REQUIRE((number < before) == (numbers.rank(source) < numbers.rank(source / 2)));
      for (const double least : {0.001, 0.1, 0.7, 0.999}) {
        const double rank = numbers.rank_at(least);
        if (numbers.clearly_above(source, rank)) REQUIRE(numbers.rank(source) > rank);
        if (number <= least) REQUIRE(!numbers.clearly_above(source, rank));
      }
    }
    CHECK(test::fit(cells, std::vector<double>(kCells, 1), static_cast<double>(kSources)) < 1);
  }
}

TEST_CASE("two steps of a passage are as much alike as the angle between them says") {
  constexpr std::uint64_t kSeed = 42, kSources = 100'000;
  INFO("seed ", kSeed);
  const auto normal = [](const SourceNumbers& numbers, std::uint64_t source) {
    return normal_at(numbers.uniform(source));
  };
  const RandomKey from(kSeed), to(kSeed + 1), then(kSeed + 2);
  const auto alike = [&](const SourceNumbers& one, const SourceNumbers& other) {
    double sum = 0;
    for (std::uint64_t source = 0; source < kSources; ++source)
      sum += normal(one, source) * normal(other, source);
    return sum / static_cast<double>(kSources);
  };
  constexpr double kHalfPi = 1.5707963267948966, kError = 4 / 316.0;  // four standard errors
  const auto near = [&](double found, double expected) {
    return std::fabs(found - expected) < kError;
  };
  for (const double kappa : {2.0, 16.0, 64.0}) {
    CAPTURE(kappa);
    const double step = 1 / kappa;
    CHECK(near(alike(SourceNumbers(from, to, 0.5), SourceNumbers(from, to, 0.5 - step)),
               std::cos(kHalfPi * step)));
    // Over the end of a passage.
    CHECK(near(alike(SourceNumbers(from, to, 1 - step), SourceNumbers(to, then, 0)),
               std::cos(kHalfPi * step)));
  }
  CHECK(near(alike(SourceNumbers(from, to, 0), SourceNumbers(to, then, 0)), 0));
}

}  // namespace
}  // namespace sluice
