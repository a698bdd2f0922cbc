#include "samplers/weighted_positions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace sluice {
namespace {

constexpr std::array<float, 6> kWeights = {1, 0, 4, 0.5f, 2, 8};

std::vector<std::uint64_t> draw(WeightedChooser& chooser,
                                std::span<const float> weights,
                                RandomKey key,
                                bool replace,
                                std::size_t count) {
  std::vector<std::uint64_t> out(count);
  REQUIRE(chooser.reserve(count, nullptr));
  chooser.draw(100, weights, key, replace, out);
  return out;
}

// The chance that one draw after another takes exactly these, in any order.
double chance_of(std::vector<std::size_t> set) {
  double sum = 0;
  std::sort(set.begin(), set.end());
  do {
    double left = 0, chance = 1;
    for (const float weight : kWeights) left += static_cast<double>(weight);
    for (const std::size_t i : set) {
      chance *= static_cast<double>(kWeights[i]) / left;
      left -= static_cast<double>(kWeights[i]);
    }
    sum += chance;
  } while (std::next_permutation(set.begin(), set.end()));
  return sum;
}

TEST_CASE("edges of weight 0 are never drawn, and count for nothing") {
  CHECK(WeightedChooser::count(kWeights) == 5);
  CHECK(WeightedChooser::count(std::vector<float>{0, 0}) == 0);
  WeightedChooser chooser;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    for (const bool replace : {false, true}) {
      for (const std::size_t count : {1u, 3u, 5u}) {
        const auto drawn = draw(chooser, kWeights, RandomKey(seed), replace, count);
        CHECK(std::is_sorted(drawn.begin(), drawn.end()));
        CHECK(std::find(drawn.begin(), drawn.end(), 101) == drawn.end());
        if (!replace) CHECK(std::adjacent_find(drawn.begin(), drawn.end()) == drawn.end());
        CHECK(drawn == draw(chooser, kWeights, RandomKey(seed), replace, count));
      }
    }
  }
}

TEST_CASE(
    "without replacement, sets come as often as draws in proportion to what is left take them") {
  // All 10 pairs out of the 5 that may come; chi-square with 9 degrees of freedom exceeds 27.9 once
  // in 1,000 runs.
  constexpr int kTrials = 50000;
  WeightedChooser chooser;
  std::map<std::vector<std::uint64_t>, int> seen;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial)
    ++seen[draw(chooser, kWeights, RandomKey(91).with(trial), false, 2)];
  CHECK(seen.size() == 10);
  double chi_square = 0;
  for (const auto& [set, count] : seen) {
    const double expected = kTrials * chance_of({set[0] - 100, set[1] - 100});
    chi_square += (count - expected) * (count - expected) / expected;
  }
  INFO("seed 91, chi-square ", chi_square);
  CHECK(chi_square < 27.9);
}

TEST_CASE("with replacement, edges come in proportion to their weights") {
  constexpr int kTrials = 20000;
  WeightedChooser chooser;
  std::array<double, 6> seen{};
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    for (const std::uint64_t at : draw(chooser, kWeights, RandomKey(92).with(trial), true, 3))
      ++seen[at - 100];
  }
  double chi_square = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double expected = 3 * kTrials * static_cast<double>(kWeights[i]) / 15.5;
    if (expected > 0) chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
  }
  INFO("seed 92, chi-square ", chi_square);
  CHECK(chi_square < 18.5);  // 4 degrees of freedom, once in 1,000
}

TEST_CASE("weights far apart lose nothing") {
  WeightedChooser chooser;
  const std::vector<float> weights = {1e-38f, 1e38f, 0, 1e-38f};
  CHECK(draw(chooser, weights, RandomKey(1), false, 3) ==
        std::vector<std::uint64_t>{100, 101, 103});
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    CHECK(draw(chooser, weights, RandomKey(seed), true, 2) == std::vector<std::uint64_t>{101, 101});
}

}  // namespace
}  // namespace sluice
