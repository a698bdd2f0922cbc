// Failures seen in published temporal samplers, one case each: what ours must not do.
#include "temporal_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <set>

namespace sluice {
namespace {

using test::ask;
using test::Events;
using test::ids_of;
using test::QueryList;
using test::sampler_of;
using Ids = std::vector<std::uint64_t>;

// A chat of few users with bursts: many events share a second.
Events bursts(std::uint64_t nodes, std::uint64_t count) {
  const RandomKey key = RandomKey(12).with("bursts");
  Events events;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t source = key.below(nodes, 2 * i);
    const std::uint64_t target = key.below(nodes, 2 * i + 1);
    events.push_back({source, target, 1'082'040'961 + static_cast<std::int64_t>(i / 4), i});
  }
  return events;
}

TEST_CASE("the oldest event is returned too") {
  const auto sampler = sampler_of({{1, 0, 3, 7}}, 2);
  CHECK(ids_of(ask(sampler, 0, 4)) == Ids{7});
  const auto two = sampler_of({{1, 0, 3, 7}, {1, 0, 4, 8}}, 2, {.count = {2}});
  CHECK(ids_of(ask(two, 0, 5)) == Ids{7, 8});
}

TEST_CASE("positives and negatives have k neighbours alike: the count alone tells nothing") {
  // For a window at the query's own event, the true destination of an event has k - 1 neighbours
  // and any other node k. Here each node has the same past whether its event is asked or not.
  const Events events = test::undirected(bursts(40, 4000));
  const auto sampler = sampler_of(events, 40, {.count = {8}});
  const test::Oracle oracle(events, sampler.options(), RandomKey(1));
  for (std::size_t i = 2000; i < events.size(); i += test::sanitized<std::size_t>(41, 401)) {
    const TemporalEvent& event = events[i];
    for (const std::uint64_t node : {event.target, event.source, (event.target + 7) % 40}) {
      const std::size_t past = oracle.all(node, event.time, event.id).size();
      REQUIRE(ask(sampler, node, event.time, event.id).size() == std::min<std::size_t>(8, past));
    }
  }
}

TEST_CASE("later queries asked first do not starve earlier ones") {
  const Events events = bursts(10, 2000);
  const auto sampler = sampler_of(events, 10);
  const Events early = ask(sampler, 3, events[800].time);
  (void)ask(sampler, 3, events[1999].time + 5);
  CHECK(ids_of(ask(sampler, 3, events[800].time)) == ids_of(early));
  CHECK(early.size() == 10);
}

TEST_CASE("queries of one call do not share their draws") {
  Events events;
  for (std::uint64_t node = 0; node < 50; ++node) {
    for (std::uint64_t i = 0; i < 100; ++i)
      events.push_back({i % 50, node, static_cast<std::int64_t>(i), node * 100 + i});
  }
  const auto sampler =
      sampler_of(events, 50, {.strategy = TemporalStrategy::kUniform, .count = {5}});
  std::set<std::vector<std::int64_t>> drawn;
  for (std::uint64_t node = 0; node < 50; ++node) {
    std::vector<std::int64_t> times;
    for (const TemporalEvent& event : ask(sampler, node, 1000)) times.push_back(event.time);
    drawn.insert(times);
  }
  CHECK(drawn.size() == 50);
}

TEST_CASE("no positive sees its own event, nor another of its second") {
  const Events events = test::undirected(bursts(40, 2000));
  const auto sampler = sampler_of(events, 40);
  for (const TemporalEvent& event : events) {
    for (const TemporalEvent& seen : ask(sampler, event.target, event.time))
      REQUIRE(seen.time < event.time);
  }
  const auto ordered = sampler_of(events, 40, {.visibility = TemporalVisibility::kEventOrder});
  for (const TemporalEvent& event : events) {
    for (const TemporalEvent& seen : ask(ordered, event.target, event.time, event.id))
      REQUIRE(seen.id < event.id);
  }
}

TEST_CASE("no time goes through a float: neighbouring seconds of our era stay apart") {
  // A float32 has one value for 128 seconds of 2004, where these are.
  Events events;
  for (std::uint64_t i = 0; i < 128; ++i)
    events.push_back({1, 0, 1'082'040'960 + static_cast<std::int64_t>(i), i});
  const auto sampler = sampler_of(events, 2, {.count = {128}});
  for (std::uint64_t i = 0; i < 128; ++i)
    REQUIRE(ask(sampler, 0, 1'082'040'960 + static_cast<std::int64_t>(i)).size() == i);
}

TEST_CASE("a batch with more of a node's events than k loses none") {
  // No ring of k that a batch of events could wrap around.
  Events events;
  for (std::uint64_t i = 0; i < 600; ++i)
    events.push_back({i, 0, 100 + static_cast<std::int64_t>(i / 300), i});
  const auto lag =
      sampler_of(events, 600, {.count = {10}, .visibility = TemporalVisibility::kBatchLag});
  CHECK(ids_of(ask(lag, 0, 101, 0, TemporalCut{101, 300})) ==
        Ids{290, 291, 292, 293, 294, 295, 296, 297, 298, 299});
  CHECK(ids_of(ask(lag, 0, 101, 0, TemporalCut{100, 5})) == Ids{0, 1, 2, 3, 4});
}

TEST_CASE("uniform rows are in time order") {
  const Events events = bursts(4, 4000);
  const auto sampler =
      sampler_of(events, 4, {.strategy = TemporalStrategy::kUniform, .count = {30}});
  for (std::uint64_t node = 0; node < 4; ++node) {
    const Events row = ask(sampler, node, events.back().time);
    REQUIRE(row.size() == 30);
    REQUIRE(std::is_sorted(row.begin(), row.end(), test::comes_before));
  }
}

TEST_CASE("times beyond 32 bits and below a second's tick keep all their digits") {
  // Microseconds of 2026: 51 bits; one tick apart.
  constexpr std::int64_t kNow = 1'767'225'600'000'000;
  const auto sampler = sampler_of({{1, 0, kNow, 1}, {2, 0, kNow + 1, 2}, {3, 0, kNow + 2, 3}}, 4);
  CHECK(ids_of(ask(sampler, 0, kNow + 1)) == Ids{1});
  CHECK(ids_of(ask(sampler, 0, kNow + 2)) == Ids{1, 2});
}

TEST_CASE("each event is beside its own time, edge id and delta") {
  const Events events = test::undirected(bursts(30, 3000));
  ThreadArena arena(2);
  for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
    const auto sampler = sampler_of(events, 30, {.strategy = strategy, .count = {6, 4}});
    QueryList queries;
    for (std::size_t i = 0; i < events.size(); i += 97)
      queries.add(events[i].target, events[i].time + 3, events[i].id);
    const auto sample =
        sampler.sample({.queries = queries.view()}, TemporalForm::kPacked, arena).or_throw();
    const Events arrived = bursts(30, 3000);
    for (const TemporalHop& hop : sample.hops) {
      for (std::size_t e = 0; e < static_cast<std::size_t>(hop.neighbours.numel()); ++e) {
        const TemporalEvent& event = arrived[hop.edge_ids.as<std::uint64_t>()[e]];
        const std::uint64_t node = hop.neighbours.as<std::uint64_t>()[e];
        REQUIRE(hop.times.as<std::int64_t>()[e] == event.time);
        REQUIRE((node == event.source || node == event.target));
      }
    }
  }
}

}  // namespace
}  // namespace sluice
