#include "samplers/choose_positions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace sluice {
namespace {

TEST_CASE("chosen positions are distinct, ascending and in range, for any degree and count") {
  PositionChooser chooser;
  REQUIRE(chooser.reserve(2000, nullptr));
  const std::vector<std::uint64_t> degrees = {
      1, 2, 15, 48, 49, 50, 1000, 2001, 0x7fffffff, 0x80000000, 1ull << 40};
  for (const std::uint64_t degree : degrees) {
    for (const std::uint64_t count : {0u, 1u, 14u, 48u, 49u, 999u, 2000u}) {
      if (count > degree) continue;
      std::vector<std::uint64_t> out(count);
      chooser.choose(1000, degree, RandomKey(count).with(degree), out);
      CHECK(std::is_sorted(out.begin(), out.end()));
      CHECK(std::adjacent_find(out.begin(), out.end()) == out.end());
      CHECK(std::all_of(
          out.begin(), out.end(), [&](std::uint64_t x) { return x >= 1000 && x - 1000 < degree; }));
    }
  }
}

TEST_CASE("all positions come when as many are asked for as there are") {
  PositionChooser chooser;
  std::vector<std::uint64_t> out(100), all(100);
  std::iota(all.begin(), all.end(), 5);
  chooser.choose(5, 100, RandomKey(1), out);
  CHECK(out == all);
}

TEST_CASE("both ways of choosing give the same positions") {
  PositionChooser chooser;
  REQUIRE(chooser.reserve(300, nullptr));
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::uint64_t count = 1 + seed;
    const std::uint64_t degree = count + 1 + seed % 7 * seed;
    std::vector<std::uint64_t> few(count), many(count);
    PositionChooser::choose_few(degree, RandomKey(seed), few);
    chooser.choose_many(degree, RandomKey(seed), many);
    CHECK(few == many);
  }
}

TEST_CASE("every subset of positions is equally likely") {
  // All 20 subsets of 3 out of 6; chi-square with 19 degrees of freedom exceeds 43.8 once in 1,000
  // runs.
  constexpr int kTrials = 100000;
  std::vector<int> counts(64);
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    std::vector<std::uint64_t> out(3);
    PositionChooser::choose_few(6, RandomKey(20260).with(trial), out);
    ++counts[1u << out[0] | 1u << out[1] | 1u << out[2]];
  }
  double chi_square = 0;
  int subsets = 0;
  for (const int count : counts) {
    if (count == 0) continue;
    ++subsets;
    chi_square += (count - kTrials / 20.0) * (count - kTrials / 20.0) / (kTrials / 20.0);
  }
  INFO("seed 20260, chi-square ", chi_square);
  CHECK(subsets == 20);
  CHECK(chi_square < 43.8);
}

}  // namespace
}  // namespace sluice
