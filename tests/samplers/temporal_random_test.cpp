// What uniform temporal rows depend on, how they are distributed, and threads.
#include "temporal_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::Events;
using test::ids_of;
using test::QueryList;

Events star(std::uint64_t nodes, std::uint64_t degree) {
  Events events;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    for (std::uint64_t i = 0; i < degree; ++i)
      events.push_back({(node + i) % nodes, node, static_cast<std::int64_t>(i), node * degree + i});
  }
  return events;
}

TemporalSampler uniform(const Events& events,
                        std::uint64_t nodes,
                        std::vector<std::int64_t> count,
                        std::uint64_t seed,
                        std::uint64_t relation = 0) {
  return TemporalSampler(test::make_temporal(events, nodes),
                         {.strategy = TemporalStrategy::kUniform, .count = std::move(count)},
                         RandomKey(seed),
                         relation);
}

TemporalSample sample(const TemporalSampler& sampler,
                      const QueryList& queries,
                      std::uint64_t epoch = 0) {
  ThreadArena arena(1);
  return sampler.sample({.epoch = epoch, .queries = queries.view()}, TemporalForm::kPadded, arena)
      .or_throw();
}

// Inclusions of a place over `trials` samples of k of d, each expected trials * k / d times. They
// are negatively correlated within a sample: (d - 1) / (d p (1 - p)) makes the sum chi-square with
// d
// - 1 degrees of freedom.
double chi_square(const std::vector<double>& counts, double trials, double chance) {
  double sum = 0;
  for (const double count : counts) sum += (count - trials * chance) * (count - trials * chance);
  const auto d = static_cast<double>(counts.size());
  return sum * (d - 1) / (d * trials * chance * (1 - chance));
}

TEST_CASE("every visible event is equally likely, over nodes, times and epochs") {
  // 15 of 60: 59 degrees of freedom, exceeded once in 1,000 runs at 98.3.
  constexpr std::uint64_t kSeed = 2718;
  constexpr std::uint64_t kDegree = 60;
  constexpr std::uint64_t kEpochs = test::sanitized(2000u, 150u);
  constexpr double kCritical = 98.3;
  const TemporalSampler sampler = uniform(star(100, 200), 100, {15}, kSeed);
  QueryList queries;  // 60 events are before the time of each
  for (std::uint64_t node = 0; node < 100; ++node) queries.add(node, kDegree);
  std::vector<double> of_all(kDegree), of_one(kDegree);
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const TemporalSample drawn = sample(sampler, queries, epoch);
    for (std::uint64_t node = 0; node < 100; ++node) {
      for (const TemporalEvent& event : test::row_of(drawn.hops[0], node)) {
        of_all[static_cast<std::size_t>(event.time)] += 1;
        if (node == 17) of_one[static_cast<std::size_t>(event.time)] += 1;
      }
    }
  }
  INFO("seed ", kSeed);
  CHECK(chi_square(of_all, 100.0 * kEpochs, 0.25) < kCritical);
  CHECK(chi_square(of_one, kEpochs, 0.25) < kCritical);
}

TEST_CASE("query times draw on their own: equally likely over times alone too") {
  constexpr std::uint64_t kSeed = 161803;
  constexpr std::uint64_t kTimes = test::sanitized(20000u, 3000u);
  Events events;
  for (std::uint64_t i = 0; i < 60; ++i) events.push_back({i, 0, static_cast<std::int64_t>(i), i});
  const TemporalSampler sampler = uniform(events, 60, {15}, kSeed);
  QueryList queries;  // all 60 events are visible at each of these times
  for (std::uint64_t t = 0; t < kTimes; ++t) queries.add(0, static_cast<std::int64_t>(60 + t));
  const TemporalSample drawn = sample(sampler, queries);
  std::vector<double> counts(60);
  for (std::size_t i = 0; i < kTimes; ++i) {
    for (const TemporalEvent& event : test::row_of(drawn.hops[0], i))
      counts[static_cast<std::size_t>(event.time)] += 1;
  }
  INFO("seed ", kSeed);
  CHECK(chi_square(counts, static_cast<double>(kTimes), 0.25) < 98.3);
}

TEST_CASE("long rows, drawn by a hash table, are uniform too") {
  constexpr std::uint64_t kSeed = 57721;
  constexpr std::uint64_t kEpochs = test::sanitized(3000u, 300u);
  const TemporalSampler sampler = uniform(star(1, 240), 1, {60}, kSeed);
  QueryList queries;
  queries.add(0, 1000);
  std::vector<double> counts(240);
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (const TemporalEvent& event : test::row_of(sample(sampler, queries, epoch).hops[0], 0))
      counts[event.id] += 1;
  }
  INFO("seed ", kSeed);
  CHECK(chi_square(counts, kEpochs, 0.25) < 312.4);  // 239 degrees of freedom, once in 1,000
}

TEST_CASE("seeds, epochs, hops, relations, nodes and query times draw on their own") {
  const Events events = star(40, 300);
  const auto row = [&](std::uint64_t seed,
                       std::uint64_t relation,
                       std::uint64_t epoch,
                       std::uint64_t node,
                       std::int64_t time) {
    QueryList queries;
    queries.add(node, time);
    const TemporalSampler sampler = uniform(events, 40, {20}, seed, relation);
    std::vector<std::int64_t> times;
    for (const TemporalEvent& event : test::row_of(sample(sampler, queries, epoch).hops[0], 0))
      times.push_back(event.time);
    return times;
  };
  const auto base = row(1, 0, 0, 5, 400);
  CHECK(base == row(1, 0, 0, 5, 400));
  CHECK(base != row(2, 0, 0, 5, 400));
  CHECK(base != row(1, 1, 0, 5, 400));
  CHECK(base != row(1, 0, 1, 5, 400));
  CHECK(base != row(1, 0, 0, 6, 400));
  CHECK(base != row(1, 0, 0, 5, 401));

  // The same node at the same time as a first and as a second hop.
  Events loop = star(1, 300);
  loop.push_back({0, 0, 1000, 5000});
  const TemporalSampler two = uniform(loop, 1, {20, 20}, 1);
  QueryList queries;
  queries.add(0, 2000);
  const TemporalSample first = sample(two, queries);
  for (std::size_t j = 0; j < 20; ++j) {
    if (test::row_of(first.hops[0], 0)[j].time != 1000) continue;
    QueryList again;
    again.add(0, 1000);
    CHECK(ids_of(test::row_of(first.hops[1], j)) !=
          ids_of(test::row_of(sample(two, again).hops[0], 0)));
  }
}

TEST_CASE("repeated queries get one answer") {
  const TemporalSampler sampler = uniform(star(40, 300), 40, {20}, 1);
  QueryList queries;
  for (int i = 0; i < 70; ++i) queries.add(3, 250);
  const TemporalSample drawn = sample(sampler, queries);
  for (std::size_t i = 1; i < 70; ++i)
    REQUIRE(ids_of(test::row_of(drawn.hops[0], i)) == ids_of(test::row_of(drawn.hops[0], 0)));
}

TEST_CASE("1, 2 and 16 threads, and one without an arena, give the same bytes") {
  const std::uint64_t nodes = 300;
  Events events;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const std::uint64_t target = RandomKey(1).below(nodes, 3 * i) / (1 + i % 7);
    events.push_back({RandomKey(1).below(nodes, 3 * i + 1),
                      target,
                      static_cast<std::int64_t>(RandomKey(1).below(500, 3 * i + 2)),
                      i});
  }
  const TemporalGraph graph = test::make_temporal(events, nodes);
  QueryList queries;
  for (std::uint64_t i = 0; i < 5000; ++i)
    queries.add(RandomKey(2).below(nodes + 5, 2 * i),
                static_cast<std::int64_t>(RandomKey(2).below(600, 2 * i + 1)),
                i);
  for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
    const TemporalSampler sampler(graph, {.strategy = strategy, .count = {7, 3}}, RandomKey(5));
    const TemporalRequest request{.queries = queries.view()};
    for (const TemporalForm form : {TemporalForm::kPadded, TemporalForm::kPacked}) {
      std::vector<std::vector<std::byte>> bytes;
      for (const int threads : {1, 2, 16}) {
        ThreadArena arena(threads);
        bytes.push_back(test::bytes_of(sampler.sample(request, form, arena).or_throw()));
      }
      CHECK(bytes[0] == bytes[1]);
      CHECK(bytes[0] == bytes[2]);
    }
    std::vector<std::int32_t> counts(5000);
    std::vector<std::uint64_t> neighbours(35000);
    sampler.fill(0, request, {.counts = counts, .neighbours = neighbours}).or_throw();
    ThreadArena arena(3);
    const auto whole = sampler.sample(request, TemporalForm::kPadded, arena).or_throw();
    const auto expected = whole.hops[0].neighbours.as<std::uint64_t>();
    CHECK(std::equal(neighbours.begin(), neighbours.end(), expected.begin(), expected.end()));
  }
}

TEST_CASE("rows packed in place are the packed form") {
  const test::RandomTemporal graph = test::random_temporal(31);
  const QueryList queries = test::random_queries(graph, 300, RandomKey(3));
  const TemporalSampler sampler(
      test::make_temporal(graph.events, graph.num_nodes), {.count = {6}}, RandomKey(1));
  ThreadArena arena(1);
  const TemporalRequest request{.queries = queries.view()};
  const auto packed = sampler.sample(request, TemporalForm::kPacked, arena).or_throw();
  std::vector<std::int32_t> counts(300);
  std::vector<std::uint64_t> neighbours(1800), ids(1800);
  std::vector<std::int64_t> times(1800), deltas(1800), offsets(301);
  const TemporalRows rows{counts, neighbours, ids, times, deltas};
  sampler.fill(0, request, rows).or_throw();
  const std::uint64_t events = pack_rows(rows, offsets);
  const TemporalHop& hop = packed.hops[0];
  const auto same = [](auto expected, const auto& got) {
    return std::equal(expected.begin(), expected.end(), got.begin());
  };
  CHECK(events == static_cast<std::uint64_t>(hop.neighbours.numel()));
  CHECK(same(hop.offsets.as<std::int64_t>(), offsets));
  CHECK(same(hop.neighbours.as<std::uint64_t>(), neighbours));
  CHECK(same(hop.edge_ids.as<std::uint64_t>(), ids));
  CHECK(same(hop.times.as<std::int64_t>(), times));
  CHECK(same(hop.deltas.as<std::int64_t>(), deltas));
}

TEST_CASE("columns asked for one by one are those of a whole row") {
  for (const std::uint64_t seed : {std::uint64_t{4}, std::uint64_t{6}, std::uint64_t{31}}) {
    const test::RandomTemporal graph = test::random_temporal(seed);
    const QueryList queries = test::random_queries(graph, 100, RandomKey(seed));
    const TemporalSampler sampler = uniform(graph.events, graph.num_nodes, {4}, seed);
    const TemporalRequest request{.queries = queries.view()};
    std::vector<std::int32_t> counts(100), one_count(100);
    std::vector<std::uint64_t> neighbours(400), ids(400), one_neighbour(400), one_id(400);
    std::vector<std::int64_t> times(400), deltas(400), one_time(400), one_delta(400);
    sampler.fill(0, request, {counts, neighbours, ids, times, deltas}).or_throw();
    const auto fill = [&](TemporalRows rows) {
      rows.counts = one_count;
      rows.neighbours = one_neighbour;
      sampler.fill(0, request, rows).or_throw();
      CHECK(one_neighbour == neighbours);
      CHECK(one_count == counts);
    };
    fill({.counts = {}, .neighbours = {}, .edge_ids = one_id});
    fill({.counts = {}, .neighbours = {}, .times = one_time});
    fill({.counts = {}, .neighbours = {}, .deltas = one_delta});
    CHECK(one_id == ids);
    CHECK(one_time == times);
    CHECK(one_delta == deltas);
  }
}

}  // namespace
}  // namespace sluice
