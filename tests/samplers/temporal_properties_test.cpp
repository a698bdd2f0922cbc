// What a temporal sampler must hold: P1 to P11, a case each.
#include "temporal_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <chrono>
#include <numeric>

namespace sluice {
namespace {

using test::ask;
using test::Events;
using test::ids_of;
using test::QueryList;
using test::sampler_of;
using Ids = std::vector<std::uint64_t>;

// Node 0 has `degree` in-edges, one a tick.
Events line_of(std::uint64_t degree) {
  Events events;
  for (std::uint64_t i = 0; i < degree; ++i)
    events.push_back({i % 50 + 1, 0, static_cast<std::int64_t>(i), i});
  return events;
}

Ids iota_ids(std::uint64_t begin, std::uint64_t end) {
  Ids ids(end - begin);
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

TEST_CASE("P1: no event of the query's time or later; by event order none of its id or later") {
  // Ties: two before, three at the query's time, one after.
  const Events events{
      {1, 0, 4, 10}, {2, 0, 5, 11}, {3, 0, 5, 12}, {4, 0, 5, 13}, {5, 0, 6, 14}, {6, 0, 3, 9}};
  for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
    const auto strict = sampler_of(events, 7, {.strategy = strategy});
    CHECK(ids_of(ask(strict, 0, 5, 12)) == Ids{9, 10});
    const auto ordered = sampler_of(
        events, 7, {.strategy = strategy, .visibility = TemporalVisibility::kEventOrder});
    CHECK(ids_of(ask(ordered, 0, 5, 12)) == Ids{9, 10, 11});
    CHECK(ids_of(ask(ordered, 0, 5, 0)) == Ids{9, 10});
    CHECK(ids_of(ask(ordered, 0, 5, kNoEdge)) == Ids{9, 10, 11, 12, 13});
  }
}

TEST_CASE("P1: with batch lag nothing of the current batch, whatever the query's time") {
  const Events events{{1, 0, 4, 10}, {2, 0, 5, 11}, {3, 0, 5, 12}, {4, 0, 6, 13}, {5, 0, 7, 14}};
  const auto lag = sampler_of(events, 6, {.visibility = TemporalVisibility::kBatchLag});
  const TemporalCut cut{5, 12};  // the batch begins with event 12
  CHECK(ids_of(ask(lag, 0, 5, 0, cut)) == Ids{10, 11});
  CHECK(ids_of(ask(lag, 0, 7, 0, cut)) == Ids{10, 11});
  CHECK(ids_of(ask(lag, 0, 5, 0, TemporalCut{5, 0})) == Ids{10});
  CHECK(ids_of(ask(lag, 0, 4, 0, cut)).empty());  // from before the batch: strict
}

TEST_CASE("P2: recent rows are exactly the last min(k, visible) events") {
  const Events events = line_of(100);
  for (const std::int64_t k : {1, 2, 7, 99, 100, 101}) {
    const auto sampler = sampler_of(events, 51, {.count = {k}});
    for (std::uint64_t t = 0; t <= 100; ++t) {
      const std::uint64_t least = t - std::min(t, static_cast<std::uint64_t>(k));
      REQUIRE(ids_of(ask(sampler, 0, static_cast<std::int64_t>(t))) == iota_ids(least, t));
    }
  }
}

TEST_CASE("P3: a row does not depend on batch mates, their order, or calls before") {
  const test::RandomTemporal graph = test::random_temporal(7);
  const TemporalGraph built = test::make_temporal(graph.events, graph.num_nodes);
  const QueryList queries = test::random_queries(graph, 200, RandomKey(7));
  ThreadArena arena(2);
  for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
    const TemporalSampler sampler(built, {.strategy = strategy, .count = {3}}, RandomKey(7));
    const auto together =
        sampler.sample({.queries = queries.view()}, TemporalForm::kPadded, arena).or_throw();
    for (std::size_t i = 200; i-- > 0;) {
      const Events alone = ask(sampler, queries.nodes[i], queries.times[i]);
      REQUIRE(ids_of(alone) == ids_of(test::row_of(together.hops[0], i)));
    }
  }
}

TEST_CASE("P3: shuffled queries, un-shuffled, give the same bytes") {
  const test::RandomTemporal graph = test::random_temporal(15);
  const QueryList queries = test::random_queries(graph, 500, RandomKey(8));
  std::vector<std::size_t> order(queries.nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[RandomKey(9).below(i + 1, i)]);
  QueryList shuffled;
  for (const std::size_t i : order)
    shuffled.add(queries.nodes[i], queries.times[i], queries.event_ids[i]);
  ThreadArena arena(2);
  for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
    const auto sampler =
        sampler_of(graph.events, graph.num_nodes, {.strategy = strategy, .count = {4, 3}});
    const auto sample = [&](const QueryList& list, std::uint64_t epoch) {
      return sampler.sample({.epoch = epoch, .queries = list.view()}, TemporalForm::kPadded, arena)
          .or_throw();
    };
    const TemporalSample straight = sample(queries, 0);
    (void)sample(shuffled, 3);  // calls between change nothing
    const TemporalSample mixed = sample(shuffled, 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      REQUIRE(ids_of(test::row_of(mixed.hops[0], i)) ==
              ids_of(test::row_of(straight.hops[0], order[i])));
      for (std::size_t j = 0; j < 4; ++j) {
        REQUIRE(ids_of(test::row_of(mixed.hops[1], 4 * i + j)) ==
                ids_of(test::row_of(straight.hops[1], 4 * order[i] + j)));
      }
    }
  }
}

TEST_CASE("P4: a later hop asks at its edge's time, as int64") {
  // 2^53 and 2^53 + 1 are one double; a float32 sees one time in all of these.
  constexpr std::int64_t kBig = std::int64_t{1} << 53;
  const Events events{{1, 0, kBig + 1, 5},
                      {2, 1, kBig - 1, 1},
                      {3, 1, kBig, 2},
                      {4, 1, kBig + 1, 6},
                      {5, 1, kBig + 2, 7}};
  ThreadArena arena(1);
  QueryList queries;
  queries.add(0, kBig + 9, 9);
  const auto second_hop = [&](TemporalVisibility visibility) {
    const auto sampler = sampler_of(events, 6, {.count = {3, 5}, .visibility = visibility});
    const TemporalRequest request{.queries = queries.view(), .cut = TemporalCut{kBig + 8, 0}};
    const auto sample = sampler.sample(request, TemporalForm::kPacked, arena).or_throw();
    CHECK(sample.hops[0].deltas.as<std::int64_t>()[0] == 8);
    return test::row_of(sample.hops[1], 0);
  };
  CHECK(ids_of(second_hop(TemporalVisibility::kStrict)) == Ids{1, 2});
  CHECK(ids_of(second_hop(TemporalVisibility::kEventOrder)) == Ids{1, 2});  // 6 comes after edge 5
  CHECK(ids_of(second_hop(TemporalVisibility::kBatchLag)) == Ids{1, 2});
}

TEST_CASE("P5: rows ascend in (time, id); duplicates are separate, a self edge is there once") {
  Events events =
      test::undirected({{0, 0, 3, 1}, {0, 1, 3, 2}, {0, 1, 3, 3}, {0, 1, 2, 4}, {2, 0, 3, 5}});
  const auto sampler = sampler_of(events, 3, {});
  CHECK(ids_of(ask(sampler, 0, 4)) == Ids{4, 1, 2, 3, 5});
  CHECK(ids_of(ask(sampler, 1, 4)) == Ids{4, 2, 3});  // the other end, under the same ids
  const auto uniform =
      sampler_of(line_of(1000), 51, {.strategy = TemporalStrategy::kUniform, .count = {20}});
  for (std::int64_t t = 21; t < 1000; t += 13) {
    const Ids row = ids_of(ask(uniform, 0, t));
    REQUIRE(row.size() == 20);
    REQUIRE(std::is_sorted(row.begin(), row.end()));
  }
}

TEST_CASE("P6: a uniform row repeats nothing, and is all there is where that is no more") {
  const auto sampler =
      sampler_of(line_of(300), 51, {.strategy = TemporalStrategy::kUniform, .count = {12}});
  for (std::int64_t t = 0; t <= 300; ++t) {
    const Ids row = ids_of(ask(sampler, 0, t));
    REQUIRE(row.size() == std::min<std::size_t>(12, static_cast<std::size_t>(t)));
    REQUIRE(std::adjacent_find(row.begin(), row.end()) == row.end());
    if (t <= 12) REQUIRE(row == iota_ids(0, static_cast<std::uint64_t>(t)));
  }
}

TEST_CASE("P7: a window [t - w, t) is exact at both ends; empty is empty") {
  const Events events = line_of(100);
  for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
    const auto sampler =
        sampler_of(events, 51, {.strategy = strategy, .count = {50}, .window = 10});
    CHECK(ids_of(ask(sampler, 0, 60)) == iota_ids(50, 60));
    CHECK(ids_of(ask(sampler, 0, 109)) == Ids{99});
    CHECK(ask(sampler, 0, 110).empty());
    CHECK(ask(sampler, 0, 0).empty());
    CHECK(ids_of(ask(sampler, 0, 4)) == iota_ids(0, 4));
    CHECK(ask(sampler, 0, test::kLeastTime).empty());  // t - w is below int64
  }
  const auto few = sampler_of(events, 51, {.count = {3}, .window = 10});
  CHECK(ids_of(ask(few, 0, 60)) == iota_ids(57, 60));
}

TEST_CASE("P8: unknown, isolated and padded nodes have no neighbours") {
  const auto sampler = sampler_of(line_of(20), 51, {.count = {4, 3}});
  for (const std::uint64_t node : {std::uint64_t{7}, std::uint64_t{51}, kNoNode}) {
    ThreadArena arena(1);
    QueryList queries;
    queries.add(node, 100);
    const auto sample =
        sampler.sample({.queries = queries.view()}, TemporalForm::kPadded, arena).or_throw();
    CHECK(sample.hops[0].counts.as<std::int32_t>()[0] == 0);
    CHECK(sample.hops[0].neighbours.as<std::uint64_t>()[0] == kNoNode);
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(sample.hops[1].counts.as<std::int32_t>()[i] == 0);  // never node 0's
  }
  const auto empty = sampler_of({}, 3, {});
  CHECK(ask(empty, 1, 5).empty());
}

TEST_CASE("P9: times and deltas are int64 from end to end") {
  const Events events{{1, 0, test::kLeastTime, 1},
                      {2, 0, -1, 2},
                      {3, 0, (std::int64_t{1} << 53) + 1, 3},
                      {4, 0, test::kLastTime - 1, 4},
                      {5, 0, test::kLastTime, 5}};
  const auto sampler = sampler_of(events, 6, {});
  CHECK(ids_of(ask(sampler, 0, test::kLastTime)) == Ids{1, 2, 3, 4});
  CHECK(ids_of(ask(sampler, 0, test::kLastTime - 1)) == Ids{1, 2, 3});
  CHECK(ids_of(ask(sampler, 0, (std::int64_t{1} << 53) + 1)) == Ids{1, 2});
  CHECK(ids_of(ask(sampler, 0, test::kLeastTime + 1)) == Ids{1});
  CHECK(ask(sampler, 0, test::kLeastTime).empty());
  ThreadArena arena(1);
  QueryList queries;
  queries.add(0, test::kLastTime);
  const auto sample =
      sampler.sample({.queries = queries.view()}, TemporalForm::kPacked, arena).or_throw();
  const auto deltas = sample.hops[0].deltas.as<std::int64_t>();
  CHECK(deltas[0] == test::kLastTime);  // 2^64 - 1 does not fit: the most that does
  CHECK(deltas[1] == test::kLastTime);  // 2^63
  CHECK(deltas[2] == test::kLastTime - (std::int64_t{1} << 53) - 1);
  CHECK(deltas[3] == 1);
}

TEST_CASE("P10: events appended in chunks, late ones among them, give what a rebuild gives") {
  ThreadArena arena(2);
  for (std::uint64_t seed = 0; seed < test::sanitized(200u, 30u); ++seed) {
    const test::RandomTemporal graph = test::random_temporal(seed);
    const RandomKey key = RandomKey(seed).with("append");
    const TemporalGraph whole = test::make_temporal(graph.events, graph.num_nodes);
    TemporalGraph grown = test::make_temporal({}, 0);
    for (std::size_t begin = 0; begin < graph.events.size();) {
      const std::size_t size = std::min(graph.events.size() - begin, 1 + key.below(40, begin));
      const std::span<const TemporalEvent> chunk(graph.events.data() + begin, size);
      std::uint64_t nodes = grown.view().num_nodes();
      for (const TemporalEvent& event : chunk) nodes = std::max(nodes, event.target + 1);
      if (begin % 2 == 1) grown = grown.as_records(nullptr).or_throw();
      grown = append_events(grown, chunk, nodes, nullptr).or_throw();
      begin += size;
    }
    REQUIRE(grown.view().num_edges() == whole.view().num_edges());
    for (std::uint64_t e = 0; e < whole.view().num_edges(); ++e) {
      REQUIRE(grown.view().times[e] == whole.view().times[e]);
      REQUIRE(grown.view().neighbour(e) == whole.view().neighbour(e));
      REQUIRE(grown.view().edge_id(e) == whole.view().edge_id(e));
    }
    const QueryList queries = test::random_queries(graph, 60, key);
    for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
      const TemporalSamplerOptions options{.strategy = strategy, .count = {5, 2}};
      const auto bytes = [&](const TemporalGraph& of) {
        const TemporalSampler sampler(of, options, RandomKey(seed));
        return test::bytes_of(
            sampler.sample({.queries = queries.view()}, TemporalForm::kPacked, arena).or_throw());
      };
      REQUIRE(bytes(grown) == bytes(whole));
    }
  }
}

// The least of several rounds: what the work takes when nobody disturbs it.
double seconds_of(const TemporalSampler& sampler, const QueryList& queries) {
  std::vector<std::int32_t> counts(queries.nodes.size());
  std::vector<std::uint64_t> neighbours(counts.size() * 10), ids(neighbours.size());
  std::vector<std::int64_t> times(neighbours.size()), deltas(neighbours.size());
  double least = 1e9;
  for (int round = 0; round < 9; ++round) {
    const auto start = std::chrono::steady_clock::now();
    sampler
        .fill(0,
              {.queries = queries.view()},
              {.counts = counts,
               .neighbours = neighbours,
               .edge_ids = ids,
               .times = times,
               .deltas = deltas})
        .or_throw();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  }
  return least;
}

TEST_CASE("P11: a query on a hub takes O(k + log degree)") {
  // Node 0 has half a million events, node 1 a hundred. Reading all of the hub's would take a
  // thousand times as long; the bound stands far from both.
  constexpr std::uint64_t kHub = test::sanitized(500'000u, 50'000u);
  Events events;
  for (std::uint64_t i = 0; i < kHub; ++i)
    events.push_back({i % 97, 0, static_cast<std::int64_t>(i), i});
  for (std::uint64_t i = 0; i < 100; ++i)
    events.push_back({i, 1, static_cast<std::int64_t>(i * (kHub / 100)), kHub + i});
  const auto sampler = sampler_of(events, 100, {});
  QueryList hub, leaf;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto time = static_cast<std::int64_t>(RandomKey(4).below(kHub, i));
    hub.add(0, time);
    leaf.add(1, time);
  }
  CHECK(seconds_of(sampler, hub) < 50 * seconds_of(sampler, leaf));
}

}  // namespace
}  // namespace sluice
