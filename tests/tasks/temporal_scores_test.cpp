// Scores of pairs from their history against a look at every event, and that no score knows of what
// a query may not see.
#include "models/support.h"
#include "samplers/temporal_support.h"
#include "tasks/decayed_sums.h"
#include "tasks/edgebank.h"
#include "tasks/pair_network.h"
#include "tasks/popularity.h"
#include "tasks/recency.h"

#include <sluice/no_node.h>
#include <sluice/tasks/pair_model.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>

using namespace sluice;
using namespace sluice::testing;
using sluice::test::Events;

namespace {

constexpr std::uint64_t kBeyondTimes = 8;  // regimes of random_temporal

bool sees(const TemporalCut& bound, const TemporalEvent& event) {
  return std::tie(event.time, event.id) < std::tie(bound.time, bound.event);
}

PairHistory history_over(const Events& events, std::uint64_t nodes) {
  ThreadArena arena(1);
  return PairHistory::make(sluice::test::make_temporal(events, nodes), nodes, arena, nullptr)
      .or_throw();
}

// Queries at the places of some events, each beside every node, and beside nobody.
struct ScoreCase {
  sluice::test::RandomTemporal graph;
  std::vector<std::uint64_t> sources, destinations;
  std::vector<std::int64_t> times, latest;
  std::vector<TemporalCut> bounds;
  std::int64_t first = 0, last = 0;

  explicit ScoreCase(std::uint64_t seed) : graph(sluice::test::random_temporal(seed)) {
    const RandomKey key = RandomKey(seed).with("queries");
    for (std::uint64_t i = 0; i < 6 && !graph.events.empty(); ++i) {
      const TemporalEvent& event = graph.events[key.below(graph.events.size(), i)];
      sources.push_back(event.source);
      times.push_back(event.time);
      bounds.push_back({event.time, key.below(2, 100 + i) * event.id});
      std::optional<std::int64_t> seen;
      for (const TemporalEvent& each : graph.events)
        if (sees(bounds.back(), each)) seen = std::max(seen.value_or(each.time), each.time);
      latest.push_back(seen.value_or(std::numeric_limits<std::int64_t>::min()));
      for (std::uint64_t node = 0; node < graph.num_nodes; ++node) destinations.push_back(node);
      destinations.push_back(kNoNode);
    }
    if (graph.events.empty()) return;
    const auto [low, high] = std::ranges::minmax(graph.events, {}, &TemporalEvent::time);
    first = low.time;
    last = high.time;
  }
  PairRequest request(const PairHistory& history) const {
    return {history, first, last, sources, times, bounds, latest, destinations};
  }
  std::size_t width() const { return graph.num_nodes + 1; }
  std::string place(std::size_t i, std::uint64_t node) const {
    return "query " + std::to_string(i) + ", node " + std::to_string(node);
  }
};

// Seeds of graphs with events whose times are near each other: recency is exact for these.
std::vector<std::uint64_t> plain_seeds() {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 160; ++seed) {
    const std::uint64_t regime = seed % kBeyondTimes;
    if (regime <= 3 || regime == 7) seeds.push_back(seed);
  }
  return seeds;
}

template <class M>
torch::Tensor scored(const typename M::Options& options, const ScoreCase& of) {
  const GraphSchema schema = homogeneous_schema(of.graph.num_nodes, 1, {});
  M model(options, ModelContext{schema, {0}, 1, RandomKey(1), nullptr});
  const PairHistory history = history_over(of.graph.events, of.graph.num_nodes);
  model.read(history, nullptr);
  return model.score(of.request(history)).to(torch::kFloat64);
}

// Of an event, whether it counts for (source, destination).
using Counts = std::function<bool(const TemporalEvent&, std::uint64_t, std::uint64_t)>;

bool is_of_pair(const TemporalEvent& event, std::uint64_t source, std::uint64_t destination) {
  return event.source == source && event.target == destination;
}

bool is_of_node(const TemporalEvent& event, std::uint64_t, std::uint64_t destination) {
  return event.target == destination;
}

std::optional<std::int64_t> last_of(const ScoreCase& of,
                                    std::size_t i,
                                    std::uint64_t destination,
                                    const Counts& counts) {
  std::optional<std::int64_t> last;
  for (const TemporalEvent& event : of.graph.events) {
    if (sees(of.bounds[i], event) && counts(event, of.sources[i], destination))
      last = std::max(last.value_or(event.time), event.time);
  }
  return last;
}

// Ids of a node's latest events in either role.
std::vector<std::pair<std::int64_t, std::uint64_t>> memory_of(const ScoreCase& of,
                                                              std::size_t i,
                                                              std::uint64_t node,
                                                              std::size_t count) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> all;
  for (const TemporalEvent& event : of.graph.events) {
    if (sees(of.bounds[i], event) && (event.source == node || event.target == node))
      all.emplace_back(event.time, event.id);
  }
  std::ranges::sort(all, std::greater());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > count) all.resize(count);
  return all;
}

// The order of the scores of each query's nodes is that of keys.
template <class Key>
void check_order(const ScoreCase& of, const torch::Tensor& scores, const Key& key) {
  for (std::size_t i = 0; i < of.sources.size(); ++i) {
    for (std::uint64_t a = 0; a < of.graph.num_nodes; ++a) {
      for (std::uint64_t b = 0; b < of.graph.num_nodes; ++b) {
        const auto row = static_cast<std::int64_t>(i);
        const double of_a = scores[row][static_cast<std::int64_t>(a)].item<double>();
        const double of_b = scores[row][static_cast<std::int64_t>(b)].item<double>();
        INFO(of.place(i, a), " and ", b);
        REQUIRE((of_a > of_b) == (key(i, a) > key(i, b)));
      }
    }
  }
}

}  // namespace

TEST_CASE("EdgeBank knows the pairs that met, ever or of late") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const ScoreCase of(seed);
    if (of.sources.empty()) continue;
    for (const double share : {0.0, 0.25}) {
      CAPTURE(share);
      const torch::Tensor scores = scored<tasks::EdgeBank>({share, PairDirection::kForward}, of);
      // A span beyond i64 is taken for the largest one in it.
      const bool spans = __int128{of.last} - of.first <= sluice::test::kLastTime;
      if (share != 0 && !spans) continue;
      const double window = share == 0 ? 0 : share * static_cast<double>(of.last - of.first);
      for (std::size_t i = 0; i < of.sources.size(); ++i) {
        for (std::uint64_t node = 0; node < of.graph.num_nodes; ++node) {
          INFO(of.place(i, node));
          const auto last = last_of(of, i, node, is_of_pair);
          const bool known =
              last && (share == 0 || static_cast<double>(of.latest[i] - *last) <= window);
          REQUIRE(scores[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(node)]
                      .item<double>() == (known ? 1 : 0));
        }
      }
    }
  }
}

TEST_CASE("recency goes by the later time, and by pairs first where it is told to") {
  using Level = std::tuple<int, std::optional<std::int64_t>>;
  for (const std::uint64_t seed : plain_seeds()) {
    CAPTURE(seed);
    const ScoreCase of(seed);
    if (of.sources.empty()) continue;
    tasks::RecencyOptions options;
    options.direction = PairDirection::kForward;
    options.by = tasks::RecencyBy::kNode;
    check_order(of, scored<tasks::Recency>(options, of), [&](std::size_t i, std::uint64_t node) {
      return last_of(of, i, node, is_of_node);
    });
    options.by = tasks::RecencyBy::kPair;
    check_order(of, scored<tasks::Recency>(options, of), [&](std::size_t i, std::uint64_t node) {
      return last_of(of, i, node, is_of_pair);
    });
    options.by = tasks::RecencyBy::kPairThenNode;
    check_order(of, scored<tasks::Recency>(options, of), [&](std::size_t i, std::uint64_t node) {
      const auto met = last_of(of, i, node, is_of_pair);
      return met ? Level{1, met} : Level{0, last_of(of, i, node, is_of_node)};
    });
    options.by = tasks::RecencyBy::kSharedThenNode;
    options.direction = PairDirection::kEither;
    options.shared = 3;
    check_order(of, scored<tasks::Recency>(options, of), [&](std::size_t i, std::uint64_t node) {
      const auto own = memory_of(of, i, of.sources[i], 3), other = memory_of(of, i, node, 3);
      const bool shared = std::ranges::any_of(own, [&](const auto& place) {
        // Between these two: an event of the source with others is in no other memory but theirs.
        return std::ranges::count(other, place) != 0 &&
               std::ranges::any_of(of.graph.events, [&](const TemporalEvent& event) {
                 return std::pair(event.time, event.id) == place &&
                        (is_of_pair(event, of.sources[i], node) ||
                         is_of_pair(event, node, of.sources[i]));
               });
      });
      const auto last = last_of(
          of, i, node, [](const TemporalEvent& event, std::uint64_t, std::uint64_t destination) {
            return event.target == destination || event.source == destination;
          });
      return Level{shared ? 1 : 0, last};
    });
  }
}

TEST_CASE("popularity sums events up, old ones by their age") {
  for (const std::uint64_t seed : plain_seeds()) {
    CAPTURE(seed);
    const ScoreCase of(seed);
    if (of.sources.empty()) continue;
    for (const std::int64_t half_life : {0, 3}) {
      CAPTURE(half_life);
      for (const auto by : {tasks::PopularityBy::kNode, tasks::PopularityBy::kPair}) {
        tasks::PopularityOptions options;
        options.by = by;
        options.half_life = half_life;
        const torch::Tensor scores = scored<tasks::Popularity>(options, of);
        const Counts counts = by == tasks::PopularityBy::kNode ? is_of_node : is_of_pair;
        for (std::size_t i = 0; i < of.sources.size(); ++i) {
          for (std::uint64_t node = 0; node < of.graph.num_nodes; ++node) {
            double sum = 0;
            for (const TemporalEvent& event : of.graph.events) {
              if (!sees(of.bounds[i], event) || !counts(event, of.sources[i], node)) continue;
              const auto age = static_cast<double>(of.times[i] - event.time);
              sum += half_life == 0 ? 1 : std::exp2(-age / static_cast<double>(half_life));
            }
            INFO(of.place(i, node));
            REQUIRE(scores[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(node)]
                        .item<double>() == doctest::Approx(sum).epsilon(1e-9));
          }
        }
      }
    }
  }
}

TEST_CASE("no score knows of events that its query may not see") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const ScoreCase of(seed);
    if (of.sources.empty()) continue;
    const GraphSchema schema = homogeneous_schema(of.graph.num_nodes, 1, {});
    const ModelContext context{schema, {0}, 1, RandomKey(1), nullptr};
    tasks::PairNetworkOptions network;
    network.hidden = 8;
    network.clocks = {2, 50};
    const std::vector<std::shared_ptr<PairModel>> models{
        std::make_shared<tasks::EdgeBank>(tasks::EdgeBankOptions{0.3}, context),
        std::make_shared<tasks::Recency>(
            tasks::RecencyOptions{tasks::RecencyBy::kSharedThenNode, 2}, context),
        std::make_shared<tasks::Popularity>(
            tasks::PopularityOptions{tasks::PopularityBy::kPairThenNode, 7}, context),
        std::make_shared<tasks::PairNetwork>(network, context)};
    const PairHistory whole = history_over(of.graph.events, of.graph.num_nodes);
    for (const auto& model : models) {
      model->read(whole, nullptr);
      const torch::Tensor all = model->score(of.request(whole));
      REQUIRE(all.isfinite().all().item<bool>());
      for (std::size_t i = 0; i < of.sources.size(); ++i) {
        Events seen;
        for (const TemporalEvent& event : of.graph.events)
          if (sees(of.bounds[i], event)) seen.push_back(event);
        const PairHistory before = history_over(seen, of.graph.num_nodes);
        model->read(before, nullptr);
        const torch::Tensor alone =
            model->score({before,
                          of.first,
                          of.last,
                          std::span(of.sources).subspan(i, 1),
                          std::span(of.times).subspan(i, 1),
                          std::span(of.bounds).subspan(i, 1),
                          std::span(of.latest).subspan(i, 1),
                          std::span(of.destinations).subspan(i * of.width(), of.width())});
        INFO(of.place(i, 0));
        REQUIRE(torch::allclose(alone[0], all[static_cast<std::int64_t>(i)], 1e-5, 1e-6));
      }
    }
  }
}

TEST_CASE("decayed sums are those of the ages of all events of a list") {
  std::vector<PairEvent> events;
  std::int64_t now = 5;
  for (std::uint64_t i = 0; i < 50; ++i) {
    now += static_cast<std::int64_t>(RandomKey(3).below(4, i));
    events.push_back({now, i, 0});
  }
  const std::vector<double> clocks{1.5, 40};
  tasks::DecayedSums sums(events, clocks);
  sums.add(events);
  std::vector<float> got(2);
  for (const std::size_t count : {0u, 1u, 20u, 50u}) {
    const std::int64_t time = (count == 0 ? 5 : events[count - 1].time) + 3;
    sums.at(std::span<const PairEvent>(events).first(count), time, got);
    for (std::size_t c = 0; c < clocks.size(); ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i)
        sum += std::exp(-static_cast<double>(time - events[i].time) / clocks[c]);
      CHECK(static_cast<double>(got[c]) == doctest::Approx(sum).epsilon(1e-5));
    }
  }
}
