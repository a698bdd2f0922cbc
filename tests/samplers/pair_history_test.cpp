// Histories of pairs against a look at every event, below every kind of bound.
#include "samplers/pair_history.h"

#include "temporal_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace sluice {
namespace {

using test::Events;
using Seen = std::tuple<std::int64_t, std::uint64_t, std::uint64_t>;  // time, id, other

bool comes_below(const TemporalEvent& event, const TemporalCut& bound) {
  return std::tie(event.time, event.id) < std::tie(bound.time, bound.event);
}

std::vector<Seen> seen_in(std::span<const PairEvent> list) {
  std::vector<Seen> seen;
  for (const PairEvent& event : list) seen.emplace_back(event.time, event.id, event.other);
  return seen;
}

// Those below the bound that are kept, in order.
std::vector<Seen> by_looking(const Events& events,
                             const TemporalCut& bound,
                             const std::function<bool(const TemporalEvent&)>& keep,
                             std::uint64_t TemporalEvent::*other) {
  std::vector<Seen> seen;
  for (const TemporalEvent& event : events) {
    if (comes_below(event, bound) && keep(event))
      seen.emplace_back(event.time, event.id, event.*other);
  }
  std::ranges::sort(seen);
  return seen;
}

PairHistory history_of(const Events& events, std::uint64_t nodes) {
  ThreadArena arena(2);
  return PairHistory::make(test::make_temporal(events, nodes), nodes, arena, nullptr).or_throw();
}

TemporalCut bound_for(const test::RandomTemporal& graph, RandomKey key, std::uint64_t i) {
  if (!graph.events.empty() && key.below(4, 3 * i) != 0) {
    const TemporalEvent& event = graph.events[key.below(graph.events.size(), 3 * i + 1)];
    return {event.time, event.id + key.below(2, 3 * i + 2)};
  }
  return {test::random_time(key, 3 * i + 1, graph.regime), key.below(400, 3 * i + 2)};
}

TEST_CASE("events of a node and of a pair are those below the bound, in order") {
  for (std::uint64_t seed = 0; seed < test::sanitized(200u, 30u); ++seed) {
    CAPTURE(seed);
    const test::RandomTemporal graph = test::random_temporal(seed);
    const PairHistory history = history_of(graph.events, graph.num_nodes);
    REQUIRE(history.num_events() == graph.events.size());
    const RandomKey key = RandomKey(seed).with("bounds");
    for (std::uint64_t i = 0; i < 12; ++i) {
      const TemporalCut bound = bound_for(graph, key, i);
      // One node beyond: it has no events.
      const std::uint64_t a = key.with("a").below(graph.num_nodes + 1, i);
      const std::uint64_t b = key.with("b").below(graph.num_nodes + 1, i);
      REQUIRE(seen_in(history.from(a, bound)) ==
              by_looking(
                  graph.events,
                  bound,
                  [&](const TemporalEvent& event) { return event.source == a; },
                  &TemporalEvent::target));
      REQUIRE(seen_in(history.to(a, bound)) ==
              by_looking(
                  graph.events,
                  bound,
                  [&](const TemporalEvent& event) { return event.target == a; },
                  &TemporalEvent::source));
      const auto met = by_looking(
          graph.events,
          bound,
          [&](const TemporalEvent& event) { return event.source == a && event.target == b; },
          &TemporalEvent::target);
      REQUIRE(seen_in(history.between(a, b, bound)) == met);
      const PairLists forward = history.of_pair(a, b, PairDirection::kForward, bound);
      REQUIRE(forward.count() == met.size());
      REQUIRE(forward.last().has_value() == !met.empty());
      if (!met.empty()) REQUIRE(*forward.last() == std::get<0>(met.back()));
      const auto back = history.between(b, a, bound);
      const PairLists either = history.of_pair(a, b, PairDirection::kEither, bound);
      REQUIRE(either.count() == met.size() + (a == b ? 0 : back.size()));
    }
  }
}

TEST_CASE("the latest events of a node come latest first, each once") {
  for (std::uint64_t seed = 0; seed < test::sanitized(200u, 30u); ++seed) {
    CAPTURE(seed);
    const test::RandomTemporal graph = test::random_temporal(seed);
    const PairHistory history = history_of(graph.events, graph.num_nodes);
    const RandomKey key = RandomKey(seed).with("latest");
    for (std::uint64_t i = 0; i < 8; ++i) {
      const TemporalCut bound = bound_for(graph, key, i);
      const std::uint64_t node = key.with("node").below(graph.num_nodes, i);
      std::set<std::pair<std::int64_t, std::uint64_t>> places;
      for (const TemporalEvent& event : graph.events) {
        if (comes_below(event, bound) && (event.source == node || event.target == node))
          places.emplace(event.time, event.id);
      }
      std::vector<std::pair<std::int64_t, std::uint64_t>> expected(places.rbegin(), places.rend());
      const std::size_t count = 1 + key.with("count").below(5, i);
      if (expected.size() > count) expected.resize(count);
      std::vector<PairEvent> latest;
      latest_events(history.of_source(node, PairDirection::kEither, bound), count, latest);
      std::vector<std::pair<std::int64_t, std::uint64_t>> got;
      for (const PairEvent& event : latest) got.emplace_back(event.time, event.id);
      REQUIRE(got == expected);
    }
  }
}

TEST_CASE("steps lead from each destination of a source to its next") {
  for (std::uint64_t seed = 0; seed < test::sanitized(200u, 30u); ++seed) {
    CAPTURE(seed);
    const test::RandomTemporal graph = test::random_temporal(seed);
    ThreadArena arena(2);
    const PairHistory history = history_of(graph.events, graph.num_nodes);
    const PairHistory steps = history.steps(arena, nullptr).or_throw();
    std::vector<TemporalEvent> expected;
    for (std::uint64_t source = 0; source < graph.num_nodes; ++source) {
      Events own;
      for (const TemporalEvent& event : graph.events)
        if (event.source == source) own.push_back(event);
      std::ranges::sort(own, [](const TemporalEvent& a, const TemporalEvent& b) {
        return std::tie(a.time, a.id, a.target) < std::tie(b.time, b.id, b.target);
      });
      for (std::size_t i = 1; i < own.size(); ++i)
        expected.push_back({own[i - 1].target, own[i].target, own[i].time, own[i].id});
    }
    REQUIRE(steps.num_events() == expected.size());
    const RandomKey key = RandomKey(seed).with("steps");
    for (std::uint64_t i = 0; i < 8; ++i) {
      const TemporalCut bound = bound_for(graph, key, i);
      const std::uint64_t a = key.with("a").below(graph.num_nodes, i);
      const std::uint64_t b = key.with("b").below(graph.num_nodes, i);
      REQUIRE(seen_in(steps.between(a, b, bound)) ==
              by_looking(
                  expected,
                  bound,
                  [&](const TemporalEvent& step) { return step.source == a && step.target == b; },
                  &TemporalEvent::target));
    }
  }
}

TEST_CASE("a bound lets through what the sampler's visibility does") {
  for (std::uint64_t seed = 0; seed < test::sanitized(100u, 20u); ++seed) {
    CAPTURE(seed);
    const test::RandomTemporal graph = test::random_temporal(seed);
    const RandomKey key = RandomKey(seed).with("visibility");
    for (const TemporalVisibility visibility : {TemporalVisibility::kStrict,
                                                TemporalVisibility::kEventOrder,
                                                TemporalVisibility::kBatchLag,
                                                TemporalVisibility::kInclusive}) {
      TemporalSamplerOptions options;
      options.count = {1};
      options.visibility = visibility;
      const test::Oracle oracle(graph.events, options, RandomKey(1));
      for (std::uint64_t i = 0; i < 8; ++i) {
        const TemporalCut asked = bound_for(graph, key, 2 * i);
        const TemporalCut cut = bound_for(graph, key, 2 * i + 1);
        const TemporalCut bound = visible_bound(visibility, asked.time, asked.event, cut);
        for (const TemporalEvent& event : graph.events)
          REQUIRE(comes_below(event, bound) ==
                  oracle.visible(event, asked.time, asked.event, 0, cut));
      }
    }
  }
}

}  // namespace
}  // namespace sluice
