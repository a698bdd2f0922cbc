// The temporal sampler against its definition, on random multigraphs.
#include "temporal_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::Events;
using test::Oracle;
using test::QueryList;
using test::RandomTemporal;

bool same_row(const TemporalHop& hop,
              std::size_t i,
              const Events& expected,
              std::int64_t query_time) {
  const Events row = test::row_of(hop, i);
  if (row.size() != expected.size()) return false;
  const std::size_t begin = hop.offsets.empty()
                                ? i * static_cast<std::size_t>(hop.neighbours.size(1))
                                : static_cast<std::size_t>(hop.offsets.as<std::int64_t>()[i]);
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (row[j].source != expected[j].source || row[j].time != expected[j].time ||
        row[j].id != expected[j].id) {
      return false;
    }
    const std::int64_t delta = hop.deltas.as<std::int64_t>()[begin + j];
    if (delta < 0 || delta != test::expected_delta(query_time, row[j].time)) return false;
  }
  return true;
}

bool padding_is_empty(const TemporalHop& hop) {
  const auto width = static_cast<std::size_t>(hop.neighbours.size(1));
  const auto counts = hop.counts.as<std::int32_t>();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::size_t j = i * width + static_cast<std::size_t>(counts[i]); j < (i + 1) * width;
         ++j) {
      if (hop.neighbours.as<std::uint64_t>()[j] != kNoNode ||
          hop.edge_ids.as<std::uint64_t>()[j] != kNoEdge || hop.times.as<std::int64_t>()[j] != 0 ||
          hop.deltas.as<std::int64_t>()[j] != 0) {
        return false;
      }
    }
  }
  return true;
}

// Every row of every hop: hop h's queries are the entries of hop h - 1, checked before.
bool agrees(const TemporalSample& sample, const Oracle& oracle, const TemporalRequest& request) {
  TemporalQueries queries = request.queries;
  for (std::size_t h = 0; h < sample.hops.size(); ++h) {
    const TemporalHop& hop = sample.hops[h];
    if (hop.counts.numel() != static_cast<std::int64_t>(queries.size())) return false;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const std::uint64_t event = queries.event_ids.empty() ? 0 : queries.event_ids[i];
      const Events expected =
          oracle.row(queries.nodes[i], queries.times[i], event, h, request.epoch, request.cut);
      if (!same_row(hop, i, expected, queries.times[i])) return false;
    }
    if (sample.form == TemporalForm::kPadded && !padding_is_empty(hop)) return false;
    queries = {hop.neighbours.as<std::uint64_t>(),
               hop.times.as<std::int64_t>(),
               hop.edge_ids.as<std::uint64_t>()};
  }
  return true;
}

TemporalSamplerOptions random_options(RandomKey key, std::uint64_t regime) {
  TemporalSamplerOptions options;
  options.strategy = key.below(2, 0) == 0 ? TemporalStrategy::kRecent : TemporalStrategy::kUniform;
  options.count.clear();
  for (std::uint64_t h = 0; h < 1 + key.below(3, 1); ++h)
    options.count.push_back(static_cast<std::int64_t>(1 + key.below(h == 0 ? 12 : 4, 2 + h)));
  options.visibility = static_cast<TemporalVisibility>(key.below(4, 5));
  switch (key.below(3, 6)) {
    case 0:
      options.window = 1 + static_cast<std::int64_t>(key.below(4, 7));
      break;
    case 1:
      options.window = regime % 8 == 6 ? test::kLastTime : 300;
      break;
    default:
      break;
  }
  return options;
}

TEST_CASE("2,000 random multigraphs: every row is what the definition says") {
  constexpr std::uint64_t kGraphs = test::sanitized(2000, 150);
  ThreadArena arena(2);
  for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
    const RandomTemporal graph = test::random_temporal(seed);
    const RandomKey key = RandomKey(seed).with("queries");
    const TemporalGraph columns = test::make_temporal(
        graph.events,
        graph.num_nodes,
        {key.below(2, 0) == 0,
         key.below(2, 1) == 0 ? test::Widths::Ids::k32 : test::Widths::Ids::k64});
    const TemporalGraph built =
        key.below(2, 3) == 0 ? columns : columns.as_records(nullptr).or_throw();
    const QueryList queries = test::random_queries(graph, 1 + key.below(70, 2), key.with("nodes"));
    for (std::uint64_t variant = 0; variant < 3; ++variant) {
      const TemporalSamplerOptions options = random_options(key.with(variant), graph.regime);
      TemporalRequest request{.epoch = variant, .queries = queries.view()};
      if (options.visibility == TemporalVisibility::kBatchLag)
        request.cut = {queries.times[0], queries.event_ids[0]};
      const TemporalSampler sampler(built, options, RandomKey(seed), variant);
      const Oracle oracle(graph.events, options, RandomKey(seed), variant);
      for (const TemporalForm form : {TemporalForm::kPadded, TemporalForm::kPacked}) {
        const TemporalSample sample = sampler.sample(request, form, arena).or_throw();
        INFO("seed ", seed, ", variant ", variant);
        REQUIRE(sample.visibility == options.visibility);
        REQUIRE(agrees(sample, oracle, request));
      }
    }
  }
}

TEST_CASE("rows longer than a register, a group and a hash table's beginning") {
  Events events;
  for (std::uint64_t i = 0; i < 3000; ++i)
    events.push_back({i % 5, i % 2, static_cast<std::int64_t>(i / 3), i});
  const TemporalGraph graph = test::make_temporal(events, 5);
  ThreadArena arena(2);
  QueryList queries;
  for (std::int64_t t = 0; t < 1001; t += test::sanitized<std::int64_t>(7, 97))
    queries.add(static_cast<std::uint64_t>(t % 3), t, 0);
  for (const std::int64_t count : {33, 48, 49, 200, 1499, 1500, 5000}) {
    for (const TemporalStrategy strategy :
         {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
      const TemporalSamplerOptions options{.strategy = strategy, .count = {count}};
      const TemporalSampler sampler(graph, options, RandomKey(3));
      const TemporalRequest request{.queries = queries.view()};
      const TemporalSample sample =
          sampler.sample(request, TemporalForm::kPacked, arena).or_throw();
      CHECK(agrees(sample, Oracle(events, options, RandomKey(3)), request));
    }
  }
}

TEST_CASE("without edge ids an edge's id is its position") {
  const Events events{{1, 0, 5, 0}, {2, 0, 6, 1}, {0, 1, 5, 2}};
  const TemporalGraph graph = test::make_temporal(events, 3, {.ids = test::Widths::Ids::kPosition});
  const TemporalGraph records = graph.as_records(nullptr).or_throw();
  CHECK(!records.view().has_edge_ids());
  for (const TemporalGraph& either : {graph, records}) {
    const TemporalSampler sampler(either, {.count = {4}}, RandomKey(1));
    CHECK(test::ids_of(test::ask(sampler, 0, 7)) == std::vector<std::uint64_t>{0, 1});
    CHECK(test::ids_of(test::ask(sampler, 1, 7)) == std::vector<std::uint64_t>{2});
  }
}

}  // namespace
}  // namespace sluice
