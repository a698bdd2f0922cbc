// Negative samplers: what they draw, how often, and what they never draw.
#include "chi_square.h"
#include "sampler_support.h"

#include "support/expect_error.h"
#include "support/sanitized.h"

#include <sluice/no_node.h>
#include <sluice/samplers/negative_sampler.h>

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <thread>

namespace sluice {
namespace {

using test::fit;
using test::Held;
using test::sanitized;
using test::TestGraph;

struct Kind {
  std::string name;
  std::function<std::unique_ptr<NegativeSampler>(
      SamplerGraph, NegativeSamplerOptions, RandomKey, MemoryLedger*)>
      make;
  bool needs_mates;  // draws from the batch
};

template <class T>
Kind make_kind(std::string name, bool needs_mates = false) {
  return {std::move(name),
          [](SamplerGraph graph, NegativeSamplerOptions o, RandomKey key, MemoryLedger* ledger) {
            return std::make_unique<T>(std::move(graph), o, key, ledger);
          },
          needs_mates};
}

std::vector<Kind> kinds() {
  return {make_kind<UniformNegatives>("uniform"),
          make_kind<DegreeNegatives>("degree"),
          make_kind<InBatchNegatives>("in-batch", true)};
}

// Edges of a relation, with what a request refers to.
struct Positives {
  std::vector<std::uint64_t> sources, destinations;
  NegativeRequest request;

  Positives(const TestGraph& graph, std::size_t relation, std::size_t most, RandomKey key) {
    const auto& lists = graph.edges[relation];
    for (std::uint64_t i = 0; sources.size() < most && i < 50 * most; ++i) {
      const std::uint64_t target = key.below(lists.size(), 2 * i);
      if (lists[target].empty()) continue;
      sources.push_back(lists[target][key.below(lists[target].size(), 2 * i + 1)].first);
      destinations.push_back(target);
    }
    request = {.epoch = 1,
               .round = 2,
               .relation = relation,
               .sources = sources,
               .destinations = destinations};
  }
  Positives(const Positives&) = delete;
  Positives& operator=(const Positives&) = delete;
};

std::vector<std::uint64_t> list_of(const Negatives& negatives) {
  const auto nodes = negatives.nodes.as<std::uint64_t>();
  return {nodes.begin(), nodes.end()};
}

bool is_edge(const TestGraph& graph, std::size_t r, std::uint64_t source, std::uint64_t target) {
  const auto& list = graph.edges[r][target];
  return std::any_of(list.begin(), list.end(), [&](const auto& e) { return e.first == source; });
}

std::uint64_t num_destinations(const TestGraph& graph, std::size_t relation) {
  return graph.edges[relation].size();
}

TEST_CASE("negatives are nodes of the destination type, no true ones, and no edges when filtered") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    for (std::uint64_t seed = 0; seed < sanitized(40u, 10u); ++seed) {
      CAPTURE(seed);
      const TestGraph graph = test::random_graph(seed);
      for (const bool filtered : {false, true}) {
        const NegativeSamplerOptions options{.count = 5, .filtered = filtered, .tries = 6};
        const auto resident = kind.make(graph.open(Held::k32), options, RandomKey(seed), nullptr);
        const auto hidden = kind.make(graph.open(Held::kHidden), options, RandomKey(seed), nullptr);
        for (std::size_t r = 0; r < graph.edges.size(); ++r) {
          const Positives positives(graph, r, 20, RandomKey(seed).with(r));
          if (positives.sources.empty()) continue;
          const auto found = resident->sample(positives.request, nullptr).or_throw();
          const auto nodes = list_of(found);
          REQUIRE(nodes.size() == 5 * positives.sources.size());
          std::uint64_t missing = 0;
          const std::set<std::uint64_t> mates(positives.destinations.begin(),
                                              positives.destinations.end());
          for (std::size_t i = 0; i < nodes.size(); ++i) {
            missing += nodes[i] == kNoNode ? 1u : 0u;
            if (nodes[i] == kNoNode) continue;
            REQUIRE(nodes[i] < num_destinations(graph, r));
            REQUIRE(nodes[i] != positives.destinations[i / 5]);
            if (kind.needs_mates) REQUIRE(mates.contains(nodes[i]));
            if (filtered) REQUIRE_FALSE(is_edge(graph, r, positives.sources[i / 5], nodes[i]));
          }
          REQUIRE(found.missing == missing);
          REQUIRE(found.redrawn >= 6 * missing);
          REQUIRE(list_of(hidden->sample(positives.request, nullptr).or_throw()) == nodes);
        }
      }
    }
  }
}

// A bipartite graph where node 0 of the sources leads to all destinations but those of `spared`.
TestGraph star_graph(std::uint64_t destinations, const std::set<std::uint64_t>& spared) {
  TestGraph graph = test::make_graph({2, destinations});
  test::EdgeLists lists(destinations);
  std::uint64_t edge = 0;
  for (std::uint64_t node = 0; node < destinations; ++node) {
    if (!spared.contains(node)) lists[node].push_back({0, edge++});
    for (std::uint64_t i = 0; i < 3 + node % 5; ++i) lists[node].push_back({1, edge++});
  }
  test::add_relation(graph, 0, 1, std::move(lists));
  return graph;
}

TEST_CASE("where all draws are refused a negative is missing, and said to be") {
  const std::vector<std::uint64_t> sources = {0, 0}, destinations = {2, 3};
  const NegativeRequest request{.sources = sources, .destinations = destinations};
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    const TestGraph full = star_graph(20, {});
    const auto none =
        kind.make(full.open(Held::k32), {.count = 3, .filtered = true}, RandomKey(1), nullptr)
            ->sample(request, nullptr)
            .or_throw();
    CHECK(list_of(none) == std::vector<std::uint64_t>(6, kNoNode));
    CHECK(none.missing == 6);
    CHECK(none.redrawn == 6 * 16);
    if (kind.needs_mates) continue;
    const TestGraph spared = star_graph(20, {7});
    const NegativeSamplerOptions patient{.count = 3, .filtered = true, .tries = 10000};
    const auto one = kind.make(spared.open(Held::k32), patient, RandomKey(1), nullptr)
                         ->sample(request, nullptr)
                         .or_throw();
    CHECK(list_of(one) == std::vector<std::uint64_t>(6, 7));
    CHECK(one.missing == 0);
  }
}

// Counts of what is drawn for one positive over many rounds.
std::vector<double> count_draws(const NegativeSampler& sampler,
                                NegativeRequest request,
                                std::uint64_t rounds,
                                std::uint64_t nodes,
                                std::size_t rows = 1) {
  std::vector<double> counts(nodes);
  for (request.round = 0; request.round < rounds; ++request.round) {
    const auto drawn = list_of(sampler.sample(request, nullptr).or_throw());
    for (std::size_t i = 0; i < drawn.size() * rows / request.sources.size(); ++i)
      counts[drawn[i]] += 1;
  }
  return counts;
}

constexpr std::uint64_t kRounds = sanitized(4000, 400);

TEST_CASE("uniform negatives are uniform over what may be drawn") {
  const TestGraph graph = star_graph(40, {3, 9, 11, 12, 30});
  const std::vector<std::uint64_t> sources = {0}, destinations = {5};
  const NegativeRequest request{.sources = sources, .destinations = destinations};
  for (const bool filtered : {false, true}) {
    const UniformNegatives sampler(graph.open(Held::k32),
                                   {.count = 20, .filtered = filtered, .tries = 1000},
                                   RandomKey(41),
                                   nullptr);
    std::vector<double> weights(40, filtered ? 0 : 1);
    for (const std::size_t spared : {3u, 9u, 11u, 12u, 30u}) weights[spared] = 1;
    weights[5] = 0;
    INFO("seed 41");
    CHECK(fit(count_draws(sampler, request, kRounds, 40), weights, 20.0 * kRounds) < 1);
  }
}

TEST_CASE("degree negatives come by in-degree^0.75 over all relations into the type") {
  TestGraph graph = test::make_graph({60, 50});
  test::add_relation(graph, 0, 1, test::random_lists(60, 50, RandomKey(4)));
  test::add_relation(graph, 1, 1, test::random_lists(50, 50, RandomKey(5)));
  test::add_relation(graph, 1, 0, test::random_lists(50, 60, RandomKey(6)));
  const std::vector<std::uint64_t> sources = {8}, destinations = {17};
  std::vector<double> weights;
  for (std::size_t node = 0; node < 50; ++node) {
    const double degree =
        static_cast<double>(graph.edges[0][node].size() + graph.edges[1][node].size());
    weights.push_back(std::pow(degree, 0.75));
  }
  CHECK(std::count(weights.begin(), weights.end(), 0.0) > 0);
  weights[17] = 0;
  for (const std::size_t relation : {0u, 1u}) {
    const NegativeRequest request{
        .relation = relation, .sources = sources, .destinations = destinations};
    const DegreeNegatives sampler(
        graph.open(Held::kHidden), {.count = 40, .tries = 1000}, RandomKey(43), nullptr);
    INFO("seed 43");
    CHECK(fit(count_draws(sampler, request, kRounds, 50), weights, 40.0 * kRounds) < 1);
  }
}

TEST_CASE("in-batch negatives are the other positives' destinations, by how often they are there") {
  const TestGraph graph = star_graph(10, {});
  const std::vector<std::uint64_t> sources = {1, 0, 1, 0, 1, 1}, destinations = {4, 2, 2, 7, 4, 9};
  const NegativeRequest request{.sources = sources, .destinations = destinations};
  const InBatchNegatives sampler(
      graph.open(Held::k32), {.count = 10, .tries = 1000}, RandomKey(44), nullptr);
  const auto counts = count_draws(sampler, request, kRounds, 10, 1);
  INFO("seed 44");
  CHECK(fit(counts, {0, 0, 2, 0, 0, 0, 0, 1, 0, 1}, 10.0 * kRounds) < 1);
}

TEST_CASE("an edge's negatives do not depend on its mates; epochs, rounds and seeds differ") {
  const TestGraph graph = test::random_graph(11);
  const Positives positives(graph, 0, 30, RandomKey(2));
  const NegativeSamplerOptions options{.count = 4, .filtered = true};
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    const auto sampler = kind.make(graph.open(Held::k32), options, RandomKey(1), nullptr);
    const auto reseeded = kind.make(graph.open(Held::k32), options, RandomKey(2), nullptr);
    const auto draw = [&](const NegativeRequest& request) {
      return list_of(sampler->sample(request, nullptr).or_throw());
    };
    const auto all = draw(positives.request);
    CHECK(draw(positives.request) == all);
    NegativeRequest other = positives.request;
    other.epoch = 7;
    CHECK(draw(other) != all);
    other = positives.request;
    other.round = 7;
    CHECK(draw(other) != all);
    CHECK(list_of(reseeded->sample(positives.request, nullptr).or_throw()) != all);
    if (kind.needs_mates) continue;
    for (std::size_t i = 0; i < positives.sources.size(); ++i) {
      NegativeRequest one = positives.request;
      one.sources = one.sources.subspan(i, 1);
      one.destinations = one.destinations.subspan(i, 1);
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(4 * i);
      CHECK(draw(one) == std::vector<std::uint64_t>(at, at + 4));
    }
  }
}

TEST_CASE("1, 2 and 16 threads draw the same negatives from one sampler") {
  const TestGraph graph = test::random_graph(11);
  constexpr std::size_t kBatches = 48;
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    const auto sampler =
        kind.make(graph.open(Held::kHidden), {.count = 4, .filtered = true}, RandomKey(1), nullptr);
    const auto run = [&](std::size_t threads) {
      std::vector<std::vector<std::uint64_t>> drawn(kBatches);
      const auto work = [&](std::size_t first) {
        for (std::size_t b = first; b < kBatches; b += threads) {
          const Positives positives(graph, b % graph.edges.size(), 20, RandomKey(b));
          if (positives.sources.empty()) continue;
          drawn[b] = list_of(sampler->sample(positives.request, nullptr).or_throw());
        }
      };
      std::vector<std::thread> others;
      for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
      work(0);
      for (std::thread& other : others) other.join();
      return drawn;
    };
    const auto alone = run(1);
    CHECK(run(2) == alone);
    CHECK(run(16) == alone);
  }
}

TEST_CASE("negatives are charged, a budget too small is an error, and all is given back") {
  const TestGraph graph = test::random_graph(4);
  const Positives positives(graph, 0, 40, RandomKey(2));
  const NegativeSamplerOptions options{.count = 8, .filtered = true};
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    MemoryLedger ledger(std::uint64_t{1} << 20);
    {
      const auto free = kind.make(graph.open(Held::k32), options, RandomKey(1), nullptr);
      const auto expected = list_of(free->sample(positives.request, nullptr).or_throw());
      const auto sampler = kind.make(graph.open(Held::k32), options, RandomKey(1), &ledger);
      const std::uint64_t standing = ledger.used();
      CHECK((standing > 0) == (kind.name == "degree"));
      int refused = 0;
      for (std::uint64_t room = 0;; room += 512) {
        REQUIRE(room < ledger.limit());
        const Charge rest =
            ledger.charge("rest", ledger.available() - std::min(ledger.available(), room))
                .or_throw();
        const auto drawn = sampler->sample(positives.request, &ledger);
        if (drawn) {
          CHECK(list_of(drawn.value()) == expected);
          CHECK(ledger.used() ==
                standing + rest.bytes() + drawn.value().nodes.bytes());  // scratch is gone
          break;
        }
        CHECK(drawn.error().code() == ErrorCode::kResource);
        CHECK(ledger.used() == standing + rest.bytes());
        ++refused;
      }
      CHECK(refused > 5);
    }
    CHECK(ledger.used() == 0);
    MemoryLedger tiny(100);
    if (kind.name == "degree") {
      const auto error = test::expect_error(
          [&] { kind.make(graph.open(Held::k32), options, RandomKey(1), &tiny); });
      CHECK(error.code() == ErrorCode::kResource);
      CHECK(tiny.used() == 0);
    }
  }
}

TEST_CASE("wrong positives, options and graphs are errors that say what is wrong") {
  const TestGraph graph = star_graph(10, {});
  const auto make_with = [&](NegativeSamplerOptions options) {
    return test::expect_error(
        [&] { UniformNegatives(graph.open(Held::k32), options, RandomKey(1), nullptr); });
  };
  CHECK(make_with({.count = 0}).code() == ErrorCode::kUsage);
  CHECK(make_with({.tries = 0}).code() == ErrorCode::kUsage);
  const UniformNegatives sampler(graph.open(Held::k32), {}, RandomKey(1), nullptr);
  const std::vector<std::uint64_t> good = {1}, source = {2}, destination = {10};
  const auto fail = [&](std::span<const std::uint64_t> sources,
                        std::span<const std::uint64_t> destinations,
                        std::size_t relation = 0) {
    const auto drawn = sampler.sample(
        {.relation = relation, .sources = sources, .destinations = destinations}, nullptr);
    REQUIRE_FALSE(drawn);
    return drawn.error();
  };
  CHECK(fail(source, good).message() ==
        "the source 2 of a positive edge is no node: type 't0' has 2");
  CHECK(fail(good, destination).message() ==
        "the destination 10 of a positive edge is no node: type 't1' has 10");
  CHECK(fail(good, good, 9).code() == ErrorCode::kInternal);
  CHECK(fail(good, {}).code() == ErrorCode::kInternal);
  CHECK(sampler.sample({}, nullptr).or_throw().nodes.numel() == 0);

  TestGraph bare = test::make_graph({3});
  test::add_relation(bare, 0, 0, test::EdgeLists(3));
  const DegreeNegatives degree(bare.open(Held::k32), {}, RandomKey(1), nullptr);
  const auto nothing = degree.sample({.sources = good, .destinations = good}, nullptr);
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().code() == ErrorCode::kData);

  const SamplerGraph failing = graph.open(Held::kHidden);
  const UniformNegatives filtered(failing, {.filtered = true}, RandomKey(1), nullptr);
  dynamic_cast<test::ListTopology&>(*failing.relations[0]).fail_neighbours = true;
  const auto failed = filtered.sample({.sources = good, .destinations = good}, nullptr);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code() == ErrorCode::kIo);
}

}  // namespace
}  // namespace sluice
