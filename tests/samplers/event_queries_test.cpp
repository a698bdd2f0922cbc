// Queries of events in the order of time, and the destinations that stand beside them.
#include "samplers/event_queries.h"

#include "samplers/event_links.h"
#include "temporal_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <tuple>
#include <vector>

namespace sluice {
namespace {

using test::Events;
using Asked = std::tuple<std::int64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

std::shared_ptr<const TemporalGraph> shared_graph(const Events& events, std::uint64_t nodes) {
  return std::make_shared<const TemporalGraph>(test::make_temporal(events, nodes));
}

EventLinks links_of(const std::shared_ptr<const TemporalGraph>& graph) {
  ThreadArena arena(2);
  return EventLinks::make(graph, arena, nullptr).or_throw();
}

GraphSchema schema_of(std::uint64_t nodes) {
  GraphSchema schema;
  schema.nodes.resize(1);
  schema.nodes[0].name = "node";
  schema.nodes[0].count = nodes;
  schema.relations.resize(1);
  schema.relations[0].source = schema.relations[0].target = "node";
  schema.relations[0].name = "meets";
  schema.relations[0].has_times = true;
  return schema;
}

EventNegatives negatives_of(const std::shared_ptr<const TemporalGraph>& graph,
                            std::uint64_t nodes,
                            std::vector<EventColumns> columns,
                            std::uint64_t seed = 1) {
  EventNegativeOptions options;
  options.columns = std::move(columns);
  options.key = RandomKey(seed);
  ThreadArena arena(2);
  return EventNegatives::make(graph, nodes, std::move(options), arena, nullptr).or_throw();
}

std::uint64_t seed_at(const QueryBatch& batch, const Array& rows, std::size_t i) {
  return batch.seeds[0].as<std::uint64_t>()[static_cast<std::size_t>(rows.as<std::int64_t>()[i])];
}

// Seeds are distinct, and each is asked about when its event was.
void check_seeds(const QueryBatch& batch, EventSeeds seeds, const Array& rows, std::size_t i) {
  if (seeds == EventSeeds::kNodes) return;
  const auto row = static_cast<std::size_t>(rows.as<std::int64_t>()[i]);
  REQUIRE(batch.seed_times[0].as<std::int64_t>()[row] == batch.queries.times.as<std::int64_t>()[i]);
  if (seeds != EventSeeds::kEvents) return;
  REQUIRE(batch.seed_events[0].as<std::uint64_t>()[row] ==
          batch.queries.ids.as<std::uint64_t>()[i]);
}

TEST_CASE("events are asked about once, in the order of time, whatever the batch size") {
  for (std::uint64_t seed = 0; seed < test::sanitized(120u, 20u); seed += 2) {
    CAPTURE(seed);
    const test::RandomTemporal graph = test::random_temporal(seed);
    std::vector<Asked> expected;
    for (const TemporalEvent& event : graph.events)
      expected.emplace_back(event.time, event.id, event.source, event.target);
    std::ranges::sort(expected);
    const auto shared = shared_graph(graph.events, graph.num_nodes);
    const auto links = std::make_shared<const EventLinks>(links_of(shared));
    for (const EventSeeds seeds : {EventSeeds::kNodes, EventSeeds::kTimes, EventSeeds::kEvents}) {
      for (const std::int64_t batch_size : {1, 7, 1000}) {
        const EventQueries queries(
            schema_of(graph.num_nodes), links, {0, batch_size, seeds, nullptr});
        REQUIRE(queries.num_queries() == expected.size());
        std::vector<Asked> got;
        for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
          const QueryBatch batch = queries.batch(3, index, nullptr).or_throw();
          const auto times = batch.queries.times.as<std::int64_t>();
          const auto ids = batch.queries.ids.as<std::uint64_t>();
          REQUIRE(batch.cut.has_value());
          REQUIRE(batch.cut->time == times[0]);
          REQUIRE(batch.cut->event == ids[0]);
          for (std::size_t i = 0; i < times.size(); ++i) {
            got.emplace_back(times[i],
                             ids[i],
                             seed_at(batch, batch.queries.sources, i),
                             seed_at(batch, batch.queries.destinations, i));
            check_seeds(batch, seeds, batch.queries.sources, i);
            check_seeds(batch, seeds, batch.queries.destinations, i);
          }
          std::set<std::tuple<std::uint64_t, std::int64_t, std::uint64_t>> distinct;
          const auto nodes = batch.seeds[0].as<std::uint64_t>();
          for (std::size_t row = 0; row < nodes.size(); ++row)
            distinct.emplace(
                nodes[row],
                seeds == EventSeeds::kNodes ? 0 : batch.seed_times[0].as<std::int64_t>()[row],
                seeds != EventSeeds::kEvents ? 0 : batch.seed_events[0].as<std::uint64_t>()[row]);
          REQUIRE(distinct.size() == nodes.size());
        }
        REQUIRE(got == expected);
      }
    }
  }
}

struct Lists {
  std::vector<std::uint64_t> numbers, sources, destinations, ids;
  std::vector<std::int64_t> times;

  explicit Lists(const Events& events) {
    for (const TemporalEvent& event : events) {
      numbers.push_back(numbers.size());
      sources.push_back(event.source);
      destinations.push_back(event.target);
      ids.push_back(event.id);
      times.push_back(event.time);
    }
  }
  AskedEvents all() const { return {numbers, sources, destinations, times, ids}; }
  AskedEvents one(std::size_t i) const {
    return {std::span(numbers).subspan(i, 1),
            std::span(sources).subspan(i, 1),
            std::span(destinations).subspan(i, 1),
            std::span(times).subspan(i, 1),
            std::span(ids).subspan(i, 1)};
  }
};

TEST_CASE("what stands beside an event is of its kind, and the same beside any others") {
  for (std::uint64_t seed = 0; seed < test::sanitized(200u, 30u); ++seed) {
    CAPTURE(seed);
    const test::RandomTemporal graph = test::random_temporal(seed);
    if (graph.events.empty()) continue;
    std::set<std::uint64_t> anybody;
    for (const TemporalEvent& event : graph.events) anybody.insert(event.target);
    const EventNegatives negatives = negatives_of(shared_graph(graph.events, graph.num_nodes),
                                                  graph.num_nodes,
                                                  {{EventNegativeKind::kRandom, 2},
                                                   {EventNegativeKind::kOther, 3},
                                                   {EventNegativeKind::kAll, 0},
                                                   {EventNegativeKind::kEverybody, 0}},
                                                  seed);
    const std::vector<std::uint64_t> candidates(anybody.begin(), anybody.end());
    REQUIRE(std::ranges::equal(negatives.candidates(), candidates));
    const std::size_t width = 5 + 2 * candidates.size();
    REQUIRE(negatives.count() == width);
    const Lists lists(graph.events);
    std::vector<std::uint64_t> drawn(graph.events.size() * width);
    negatives.draw(4, lists.all(), drawn).or_throw();
    for (std::size_t i = 0; i < graph.events.size(); ++i) {
      const TemporalEvent& own = graph.events[i];
      const std::span<const std::uint64_t> row = std::span(drawn).subspan(i * width, width);
      std::vector<std::uint64_t> alone(width);
      negatives.draw(4, lists.one(i), alone).or_throw();
      REQUIRE(std::ranges::equal(row, alone));
      for (std::size_t n = 0; n < 2; ++n) REQUIRE(anybody.contains(row[n]));
      for (std::size_t n = 2; n < 5; ++n) {
        const bool found = row[n] != own.target && anybody.contains(row[n]);
        REQUIRE((found || (row[n] == kNoNode && anybody.size() == 1)));
      }
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        const bool meets = std::ranges::any_of(graph.events, [&](const TemporalEvent& event) {
          return event.source == own.source && event.target == candidates[c] &&
                 event.time == own.time;
        });
        REQUIRE(row[5 + c] == (meets ? kNoNode : candidates[c]));
        REQUIRE(row[5 + candidates.size() + c] == candidates[c]);
      }
    }
  }
}

TEST_CASE("a share of the events has its columns, the same in each epoch and kind") {
  Events events;
  for (std::uint64_t i = 0; i < 3000; ++i)
    events.push_back({9, i % 9, static_cast<std::int64_t>(i), i});
  const EventNegatives negatives =
      negatives_of(shared_graph(events, 10),
                   10,
                   {{EventNegativeKind::kRandom, 1}, {EventNegativeKind::kAll, 0, 0.2}});
  const Lists lists(events);
  const std::size_t width = negatives.count();
  std::vector<std::uint64_t> first(events.size() * width), later = first;
  negatives.draw(0, lists.all(), first).or_throw();
  negatives.draw(7, lists.all(), later).or_throw();
  std::size_t have = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto row = std::span(first).subspan(i * width, width);
    REQUIRE(row[0] != kNoNode);
    // All but the true one, or none.
    const auto there = static_cast<std::size_t>(
        std::ranges::count_if(row.subspan(1), [](std::uint64_t node) { return node != kNoNode; }));
    REQUIRE((there == 0 || there == width - 2));
    have += there != 0 ? 1u : 0u;
    REQUIRE(std::ranges::equal(row.subspan(1), std::span(later).subspan(i * width + 1, width - 1)));
  }
  // Binomial: a standard deviation is 22.
  CHECK(have > 490);
  CHECK(have < 710);
}

TEST_CASE("each other destination is as likely, and the true one never is drawn") {
  Events events;
  for (std::uint64_t i = 0; i < 5; ++i) events.push_back({9, 2 * i, 10, i});
  const EventNegatives negatives =
      negatives_of(shared_graph(events, 10), 10, {{EventNegativeKind::kOther, 1}});
  const Lists lists(events);
  std::array<int, 10> counts{};
  constexpr int kDraws = 4000;
  for (std::uint64_t epoch = 0; epoch < kDraws; ++epoch) {
    std::vector<std::uint64_t> drawn(1);
    negatives.draw(epoch, lists.one(2), drawn).or_throw();
    ++counts.at(drawn[0]);
  }
  // Binomial: a standard deviation is 27.
  for (const std::size_t node : {0u, 2u, 6u, 8u}) CHECK(std::abs(counts.at(node) - 1000) < 150);
  CHECK(counts[4] == 0);
}

TEST_CASE("mixed destinations are half met in training, half not, and all distinct") {
  for (std::uint64_t seed = 0; seed < test::sanitized(200u, 30u); ++seed) {
    CAPTURE(seed);
    const test::RandomTemporal graph = test::random_temporal(seed);
    if (graph.events.empty()) continue;
    const RandomKey key = RandomKey(seed).with("mixed");
    const std::int64_t end = graph.events[key.below(graph.events.size(), 0)].time;
    const std::size_t count = 1 + key.below(9, 1);
    EventNegativeOptions options;
    options.columns = {{EventNegativeKind::kMixed, count}};
    options.training_end = end;
    ThreadArena arena(2);
    const EventNegatives negatives =
        EventNegatives::make(
            shared_graph(graph.events, graph.num_nodes), graph.num_nodes, options, arena, nullptr)
            .or_throw();
    const Lists lists(graph.events);
    std::vector<std::uint64_t> drawn(graph.events.size() * count);
    negatives.draw(0, lists.all(), drawn).or_throw();
    for (std::size_t i = 0; i < graph.events.size(); ++i) {
      const TemporalEvent& own = graph.events[i];
      std::set<std::uint64_t> trained, now, anybody;
      for (const TemporalEvent& event : graph.events) {
        anybody.insert(event.target);
        if (event.source != own.source) continue;
        if (event.time < end) trained.insert(event.target);
        if (event.time == own.time) now.insert(event.target);
      }
      std::size_t historical = 0, others = 0;
      for (const std::uint64_t node : anybody) {
        if (now.contains(node)) continue;
        (trained.contains(node) ? historical : others) += 1;
      }
      const std::size_t of_history = std::min(count / 2, historical);
      const std::size_t of_others = std::min(count - of_history, others);
      std::set<std::uint64_t> distinct;
      for (std::size_t n = 0; n < count; ++n) {
        const std::uint64_t node = drawn[i * count + n];
        if (n >= of_history + of_others) {
          REQUIRE(node == kNoNode);
          continue;
        }
        REQUIRE(anybody.contains(node));
        REQUIRE_FALSE(now.contains(node));
        REQUIRE(trained.contains(node) == (n < of_history));
        REQUIRE(distinct.insert(node).second);
      }
    }
  }
}

TEST_CASE("stored destinations stand beside the events of their rows") {
  const Events events{{0, 1, 10, 0}, {0, 2, 20, 1}, {1, 2, 30, 2}};
  EventNegativeOptions options;
  options.columns = {{EventNegativeKind::kStored, 2}};
  options.stored = Array::make(DType::kU64, {3, 2}).or_throw();
  const std::vector<std::uint64_t> stored{2, 0, 1, kNoNode, 0, 1};
  std::ranges::copy(stored, options.stored.as<std::uint64_t>().begin());
  ThreadArena arena(1);
  const auto graph = shared_graph(events, 3);
  const auto negatives = std::make_shared<const EventNegatives>(
      EventNegatives::make(graph, 3, options, arena, nullptr).or_throw());
  const EventQueries queries(schema_of(3),
                             std::make_shared<const EventLinks>(links_of(graph)),
                             {0, 2, EventSeeds::kNodes, negatives});
  std::vector<std::uint64_t> got;
  for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
    const QueryBatch batch = queries.batch(0, index, nullptr).or_throw();
    for (const std::int64_t row : batch.queries.negatives.as<std::int64_t>())
      got.push_back(row < 0 ? kNoNode
                            : batch.seeds[0].as<std::uint64_t>()[static_cast<std::size_t>(row)]);
  }
  CHECK(got == stored);
  options.columns[0].count = 3;
  CHECK_FALSE(EventNegatives::make(graph, 3, options, arena, nullptr));
}

}  // namespace
}  // namespace sluice
