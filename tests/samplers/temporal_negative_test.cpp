// Historical and inductive negatives against their definition, by looking at every event.
#include "samplers/temporal_negative_sampler.h"

#include "temporal_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <set>

namespace sluice {
namespace {

using test::Events;
using Kind = TemporalNegativeKind;
using Nodes = std::set<std::uint64_t>;

// What may be drawn for an event, by definition.
struct Allowed {
  Nodes by_kind;
  Nodes anybody;
};

Allowed allowed(const Events& events, Kind kind, std::int64_t end, const TemporalEvent& of) {
  Nodes trained, met, now{of.target}, anybody;
  for (const TemporalEvent& event : events) {
    anybody.insert(event.target);
    if (event.source != of.source) continue;
    if (event.time == of.time) now.insert(event.target);
    if (event.time < end) trained.insert(event.target);
    const bool in_training = event.time < end;
    if (event.time < of.time && in_training == (kind == Kind::kHistorical))
      met.insert(event.target);
  }
  Allowed sets;
  for (const std::uint64_t node : anybody) {
    if (now.contains(node)) continue;
    sets.anybody.insert(node);
    if (met.contains(node) && (kind == Kind::kHistorical || !trained.contains(node)))
      sets.by_kind.insert(node);
  }
  return sets;
}

struct Asked {
  std::vector<std::uint64_t> sources, destinations;
  std::vector<std::int64_t> times;

  void add(const TemporalEvent& event) {
    sources.push_back(event.source);
    destinations.push_back(event.target);
    times.push_back(event.time);
  }
  TemporalNegativeSampler::Request request(Kind kind,
                                           std::int64_t end,
                                           std::size_t count,
                                           std::uint64_t epoch = 0) const {
    return {kind, end, epoch, sources, destinations, times, count};
  }
};

TemporalNegativeSampler make(const Events& events, std::uint64_t nodes, std::uint64_t seed = 1) {
  ThreadArena arena(2);
  return TemporalNegativeSampler::make(
             test::make_temporal(events, nodes), nodes, RandomKey(seed), 0, arena, nullptr)
      .or_throw();
}

TEST_CASE("on random multigraphs each negative is one that the definition allows") {
  ThreadArena arena(2);
  for (std::uint64_t seed = 0; seed < test::sanitized(600u, 80u); ++seed) {
    const test::RandomTemporal graph = test::random_temporal(seed);
    if (graph.events.empty()) continue;
    const TemporalNegativeSampler sampler = make(graph.events, graph.num_nodes, seed);
    const std::int64_t end =
        graph.events[RandomKey(seed).with("end").below(graph.events.size(), 0)].time;
    Asked asked;
    for (const TemporalEvent& event : graph.events) asked.add(event);
    for (const Kind kind : {Kind::kHistorical, Kind::kInductive}) {
      constexpr std::size_t kCount = 3;
      std::vector<std::uint64_t> drawn(graph.events.size() * kCount);
      const auto report = sampler.draw(asked.request(kind, end, kCount), drawn, arena).or_throw();
      std::uint64_t random = 0, none = 0;
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        const Allowed sets = allowed(graph.events, kind, end, graph.events[i / kCount]);
        INFO("seed ", seed, ", event ", i / kCount);
        if (!sets.by_kind.empty()) {
          REQUIRE(sets.by_kind.contains(drawn[i]));
        } else if (!sets.anybody.empty()) {
          REQUIRE(sets.anybody.contains(drawn[i]));
          ++random;
        } else {
          REQUIRE(drawn[i] == kNoNode);
          ++none;
        }
      }
      REQUIRE(report.random == random);
      REQUIRE(report.none == none);
    }
  }
}

// Users 0 to 9 and items 10 to 59; user 0 has met items 10 to 39 in training, 40 to 49 since.
Events shop() {
  Events events;
  std::uint64_t id = 0;
  for (std::uint64_t item = 10; item < 40; ++item) {
    for (std::uint64_t again = 0; again < 1 + item % 3; ++again)  // how often does not matter
      events.push_back({0, item, static_cast<std::int64_t>(item), id++});
  }
  for (std::uint64_t item = 40; item < 50; ++item)
    events.push_back({0, item, static_cast<std::int64_t>(item + 60), id++});
  events.push_back({0, 10, 105, id++});  // an old pair meets again: not inductive
  for (std::uint64_t item = 10; item < 60; ++item)
    events.push_back({1 + item % 9, item, static_cast<std::int64_t>(item), id++});
  return events;
}
constexpr std::int64_t kEnd = 100;  // of training

TEST_CASE("each pair is equally likely, however often it met") {
  constexpr std::uint64_t kSeed = 5;
  constexpr std::size_t kDraws = test::sanitized(60000u, 6000u);
  const TemporalNegativeSampler sampler = make(shop(), 60, kSeed);
  ThreadArena arena(2);
  Asked asked;
  asked.add({0, 25, 200, 999});
  const auto chi_square = [&](Kind kind, std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> drawn(kDraws);
    const auto report = sampler.draw(asked.request(kind, kEnd, kDraws), drawn, arena).or_throw();
    CHECK(report.random == 0);
    std::vector<double> counts(60);
    for (const std::uint64_t node : drawn) counts.at(node) += 1;
    const double expected =
        static_cast<double>(kDraws) / static_cast<double>(kind == Kind::kHistorical ? 29 : 10);
    double sum = 0;
    for (std::uint64_t node = 0; node < 60; ++node) {
      const bool possible = node >= first && node < last && node != 25;
      if (!possible) CHECK(counts[node] == 0);
      if (possible) sum += (counts[node] - expected) * (counts[node] - expected) / expected;
    }
    return sum;
  };
  INFO("seed ", kSeed);
  CHECK(chi_square(Kind::kHistorical, 10, 40) < 56.9);  // 28 degrees of freedom, once in 1,000
  CHECK(chi_square(Kind::kInductive, 40, 50) < 27.9);   // 9
}

TEST_CASE("nothing of the future, of the time itself, or of the other side is drawn") {
  const TemporalNegativeSampler sampler = make(shop(), 60);
  ThreadArena arena(1);
  const auto draw = [&](TemporalEvent of, Kind kind, std::size_t count = 200) {
    Asked asked;
    asked.add(of);
    std::vector<std::uint64_t> drawn(count);
    const auto report = sampler.draw(asked.request(kind, kEnd, count), drawn, arena).or_throw();
    return std::pair(Nodes(drawn.begin(), drawn.end()), report);
  };
  CHECK(draw({0, 50, 12, 0}, Kind::kHistorical).first == Nodes{10, 11});
  CHECK(draw({0, 11, 12, 0}, Kind::kHistorical).first == Nodes{10});
  CHECK(draw({0, 50, 102, 0}, Kind::kInductive).first == Nodes{40, 41});
  CHECK(draw({0, 50, 105, 0}, Kind::kInductive, 500).first == Nodes{40, 41, 42, 43, 44});
  // Before its first event a source has met nobody: any item, never a user.
  const auto [nodes, report] = draw({0, 50, 10, 0}, Kind::kHistorical);
  CHECK(report.random == 200);
  CHECK(*nodes.begin() >= 11);  // 10 is at the time itself
  CHECK(!nodes.contains(50));
  CHECK(draw({77, 50, 10, 0}, Kind::kInductive).second.random == 200);  // an unknown source
}

TEST_CASE("negatives do not depend on batch mates, their order, or threads") {
  const test::RandomTemporal graph = test::random_temporal(23);
  const TemporalNegativeSampler sampler = make(graph.events, graph.num_nodes);
  Asked asked, backwards;
  for (int i = 0; i < 30; ++i) {
    for (const TemporalEvent& event : graph.events) asked.add(event);
  }
  const std::size_t size = asked.sources.size();
  for (std::size_t i = size; i-- > 0;)
    backwards.add({asked.sources[i], asked.destinations[i], asked.times[i], 0});
  const std::int64_t end = graph.events[graph.events.size() / 2].time;
  const auto draw = [&](const Asked& of, int threads, std::uint64_t epoch = 0) {
    ThreadArena arena(threads);
    std::vector<std::uint64_t> drawn(2 * size);
    (void)sampler.draw(of.request(Kind::kHistorical, end, 2, epoch), drawn, arena).or_throw();
    return drawn;
  };
  const auto alone = draw(asked, 1);
  CHECK(alone == draw(asked, 2));
  CHECK(alone == draw(asked, 16));
  CHECK(alone != draw(asked, 1, 1));
  const auto reversed = draw(backwards, 1);
  for (std::size_t i = 0; i < size; ++i) {
    REQUIRE(alone[2 * i] == reversed[2 * (size - 1 - i)]);
    REQUIRE(alone[2 * i + 1] == reversed[2 * (size - 1 - i) + 1]);
  }
}

TEST_CASE("sizes that do not agree, sources beyond and a small budget are errors") {
  ThreadArena arena(1);
  const TemporalGraph graph = test::make_temporal(shop(), 60);
  CHECK(TemporalNegativeSampler::make(graph, 5, RandomKey(1), 0, arena, nullptr).error().code() ==
        ErrorCode::kData);
  MemoryLedger ledger(1000);
  CHECK(TemporalNegativeSampler::make(graph, 60, RandomKey(1), 0, arena, &ledger).error().code() ==
        ErrorCode::kResource);
  CHECK(ledger.used() == 0);
  Asked asked;
  asked.add({0, 25, 200, 999});
  std::vector<std::uint64_t> drawn(1);
  CHECK(make(shop(), 60)
            .draw(asked.request(Kind::kHistorical, kEnd, 2), drawn, arena)
            .error()
            .code() == ErrorCode::kUsage);
}

}  // namespace
}  // namespace sluice
