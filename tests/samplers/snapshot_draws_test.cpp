// What a record holds: uniform, distinct, and of the period alone.
#include "samplers/snapshot/record_draws.h"

#include "samplers/snapshot_support.h"
#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace sluice {
namespace {

using test::sanitized;

SnapshotOptions mode_of(SnapshotMode mode, double gamma = 0.25) {
  return {.mode = mode, .gamma = gamma};
}

std::vector<std::uint64_t> drawn(RecordDraws& draws,
                                 std::uint64_t epoch,
                                 std::uint64_t period,
                                 std::uint64_t node,
                                 std::uint64_t degree,
                                 std::size_t count) {
  draws.reserve(count, nullptr).or_throw();
  std::vector<std::uint64_t> out(count);
  draws.draw(epoch, period, node, degree, out);
  return out;
}

using test::kDrawnModes;

TEST_CASE("a record's edges are distinct and below the degree, for any size") {
  for (const SnapshotMode mode : kDrawnModes) {
    RecordDraws draws(mode_of(mode, 0.3), RandomKey(1));
    for (std::uint64_t i = 0; i < sanitized(600u, 200u); ++i) {
      const std::uint64_t degree = 1 + RandomKey(2).below(300, 2 * i);
      const auto count = static_cast<std::size_t>(1 + RandomKey(2).below(degree, 2 * i + 1));
      const auto out = drawn(draws, i % 3, i, i, degree, count);
      const std::set<std::uint64_t> distinct(out.begin(), out.end());
      REQUIRE(distinct.size() == count);
      REQUIRE(*distinct.rbegin() < degree);
      if (count == degree) REQUIRE(std::ranges::is_sorted(out));
    }
  }
}

TEST_CASE("periods, epochs, nodes and keys draw on their own, and in any order") {
  for (const SnapshotMode mode : kDrawnModes) {
    RecordDraws draws(mode_of(mode, 1), RandomKey(1));
    RecordDraws other(mode_of(mode, 1), RandomKey(2));
    const auto base = drawn(draws, 0, 5, 7, 1000, 20);
    CHECK(base != drawn(draws, 0, 6, 7, 1000, 20));
    CHECK(base != drawn(draws, 1, 5, 7, 1000, 20));
    CHECK(base != drawn(draws, 0, 5, 8, 1000, 20));
    CHECK(base != drawn(other, 0, 5, 7, 1000, 20));
    CHECK(base == drawn(draws, 0, 5, 7, 1000, 20));
  }
}

// Inclusions of each of `degree` edges over trials, as chi-square with degree - 1 degrees of
// freedom: inclusions are negatively correlated, hence the factor.
double chi_square(const std::vector<double>& counts, double trials, double chance) {
  const auto degree = static_cast<double>(counts.size());
  double sum = 0;
  for (const double count : counts) sum += (count - trials * chance) * (count - trials * chance);
  return sum * (degree - 1) / (degree * trials * chance * (1 - chance));
}

TEST_CASE("each edge is as often in a record as any other, over nodes, and over epochs of one") {
  // 12 of 60: 59 degrees of freedom, beyond 98.3 once in 1,000 runs. Of on_the_fly a late period,
  // when places have given way to each other many times.
  constexpr std::size_t kDegree = 60;
  constexpr std::size_t kCount = 12;
  constexpr std::uint64_t kTrials = sanitized(20'000, 4000);
  for (const SnapshotMode mode : kDrawnModes) {
    RecordDraws draws(mode_of(mode), RandomKey(20));
    std::vector<double> over_nodes(kDegree), over_epochs(kDegree), pairs(kDegree);
    for (std::uint64_t i = 0; i < kTrials; ++i) {
      for (const std::uint64_t edge : drawn(draws, 0, 37, i, kDegree, kCount))
        over_nodes[edge] += 1;
      const auto one = drawn(draws, i, 37, 5, kDegree, kCount);
      for (const std::uint64_t edge : one) over_epochs[edge] += 1;
      // The distance between two places: as likely as any other, on a circle.
      pairs[(one[3] + kDegree - one[8]) % kDegree] += 1;
    }
    CAPTURE(static_cast<int>(mode));
    CHECK(chi_square(over_nodes, kTrials, 12.0 / 60) < 98.3);
    CHECK(chi_square(over_epochs, kTrials, 12.0 / 60) < 98.3);
    if (mode != SnapshotMode::kOnTheFly) continue;
    CHECK(pairs[0] == 0);  // and of the others 58 degrees of freedom: 97.0
    double sum = 0;
    const double expected = static_cast<double>(kTrials) / 59;
    for (std::size_t d = 1; d < kDegree; ++d)
      sum += (pairs[d] - expected) * (pairs[d] - expected) / expected;
    CHECK(sum < 97.0);
  }
}

// Places of a record that hold another edge a period later, as a share.
double changed_share(double gamma, std::uint64_t degree, std::size_t count) {
  RecordDraws draws(mode_of(SnapshotMode::kOnTheFly, gamma), RandomKey(4));
  double changed = 0;
  constexpr std::uint64_t kNodes = sanitized(200, 50);
  for (std::uint64_t node = 0; node < kNodes; ++node) {
    auto before = drawn(draws, 0, 0, node, degree, count);
    for (std::uint64_t period = 1; period <= 20; ++period) {
      auto now = drawn(draws, 0, period, node, degree, count);
      for (std::size_t place = 0; place < count; ++place) changed += before[place] != now[place];
      before = std::move(now);
    }
  }
  return changed / static_cast<double>(kNodes * 20 * count);
}

TEST_CASE("on_the_fly changes a share gamma of the places each period") {
  for (const double gamma : {0.05, 0.25, 0.5, 1.0}) {
    CAPTURE(gamma);
    // Of many edges nearly each draw is another edge, and hardly one must give way.
    CHECK(changed_share(gamma, 100'000, 20) == doctest::Approx(gamma).epsilon(0.02));
    // Where half of all edges are held many are drawn again, and some move: never many more.
    CHECK(changed_share(gamma, 40, 20) < 2.2 * gamma);
  }
}

TEST_CASE("no place is older than a round of redraws") {
  for (const double gamma : {0.1, 0.3, 1.0}) {
    RecordDraws draws(mode_of(SnapshotMode::kOnTheFly, gamma), RandomKey(4));
    std::uint64_t most = 0;
    for (std::uint64_t period = 0; period < 50; ++period) {
      const RecordDraws::Age age = draws.age(period, 30);
      CHECK(age.most <= period);
      CHECK(age.mean <= static_cast<double>(age.most));
      most = std::max(most, age.most);
    }
    CHECK(static_cast<double>(most) <= 1 / gamma);
  }
  RecordDraws refresh(mode_of(SnapshotMode::kRefresh), RandomKey(4));
  CHECK(refresh.age(100, 30).most == 0);
}

}  // namespace
}  // namespace sluice
