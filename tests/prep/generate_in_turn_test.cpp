// Events whose ends are taken in turn.
#include "prep/generate/temporal.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

using namespace sluice;

TEST_CASE("temporal: ends in turn are each node once a round, and others the round after") {
  TemporalGenerator::Options options;
  options.nodes = 1'000;
  options.events = 3'000;
  options.repeat = 0;
  options.in_turn = 1;
  const TemporalDraw draw(options);
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (std::uint64_t round = 0; round < 3; ++round) {
    std::set<std::uint64_t> sources, targets;
    for (std::uint64_t event = 1'000 * round; event < 1'000 * (round + 1); ++event) {
      const auto [source, target] = draw(event);
      REQUIRE(source < 1'000);
      REQUIRE(target < 1'000);
      sources.insert(source);
      targets.insert(target);
      pairs.emplace(source, target);
    }
    CHECK(sources.size() == 1'000);
    CHECK(targets.size() == 1'000);
  }
  CHECK(pairs.size() > 1'000);
  // Half of them: nodes have events in other numbers, and more of them have some than of skewed
  // ones.
  const auto nodes_with_events = [&](double in_turn) {
    options.in_turn = in_turn;
    const TemporalDraw other(options);
    std::set<std::uint64_t> nodes;
    for (std::uint64_t event = 0; event < 500; ++event) {
      const auto [source, target] = other(event);
      nodes.insert(source);
      nodes.insert(target);
    }
    return nodes.size();
  };
  const std::size_t skewed = nodes_with_events(0), half = nodes_with_events(0.5),
                    all = nodes_with_events(1);
  CHECK(skewed < half);
  CHECK(half < all);
  CHECK(all > 650);  // 750 where both walks are as independent draws
}
