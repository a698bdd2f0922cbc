#include <sluice/samplers/choose_positions.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
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

TEST_CASE("every way of drawing gives the same positions in the same order") {
  PositionChooser chooser;
  REQUIRE(chooser.reserve(300, nullptr));
  std::size_t repeats = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::uint64_t count = 1 + seed % 200;
    const std::uint64_t degree = count + 1 + (seed % 7) * seed * (seed % 3 == 0 ? 100'003 : 1);
    CAPTURE(seed);
    std::vector<std::uint64_t> few(count), many(count), drawn(count), lanes(count), chosen(count);
    PositionChooser::draw_few(77, degree, RandomKey(seed), few);
    chooser.draw_many(77, degree, RandomKey(seed), many);
    chooser.draw(77, degree, RandomKey(seed), drawn);
    CHECK(few == many);
    CHECK(few == drawn);
    if (count <= PositionChooser::kLanes) {
      const bool distinct = PositionChooser::draw_lanes(77, degree, RandomKey(seed), lanes);
      repeats += distinct ? 0 : 1;
      if (distinct) CHECK(lanes == few);
    }
    chooser.choose(77, degree, RandomKey(seed), chosen);
    std::sort(few.begin(), few.end());
    CHECK(chosen == few);
  }
  CHECK(repeats > 20);  // and they were noticed
  CHECK(repeats < 100);
}

TEST_CASE("a repeat in any pair of lanes is noticed") {
  // Of degree one more than the count nearly all draws repeat; those that do not are Floyd's.
  std::size_t kept = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const std::uint64_t count = 2 + seed % 15;
    std::vector<std::uint64_t> lanes(count), draws(count);
    const std::uint64_t degree = count + 1 + seed % 3;
    for (std::uint64_t i = 0; i < count; ++i)
      draws[i] = RandomKey(seed).below(degree - count + i + 1, i);
    const bool distinct = PositionChooser::draw_lanes(0, degree, RandomKey(seed), lanes);
    CHECK(distinct == (std::set<std::uint64_t>(draws.begin(), draws.end()).size() == count));
    if (distinct) CHECK(lanes == draws);
    kept += distinct ? 1 : 0;
  }
  CHECK(kept > 100);
}

TEST_CASE("every subset of positions is equally likely") {
  // All 20 subsets of 3 out of 6; chi-square with 19 degrees of freedom exceeds 43.8 once in 1,000
  // runs.
  constexpr int kTrials = 100000;
  std::vector<int> counts(64);
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    std::vector<std::uint64_t> out(3);
    PositionChooser::draw_few(0, 6, RandomKey(20260).with(trial), out);
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
