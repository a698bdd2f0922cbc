// How LaborSampler's edges are distributed, how much targets and mini-batches share, and that means
// over them are unbiased.
#include "chi_square.h"
#include "labor_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace sluice {
namespace {

using test::drawn_ids;
using test::DrawnIds;
using test::Held;
using test::numbers_from;
using test::sanitized;
using test::TestGraph;
using Count = SharedDraws::Count;

constexpr BlockParts kIds{.edge_ids = true};

// The edge ids that each of `seeds` draws in a round.
DrawnIds draw(Sampler& sampler, const std::vector<std::uint64_t>& seeds, std::uint64_t round) {
  return drawn_ids(
      sampler.sample({.round = round, .index = round, .seeds = seeds}, nullptr).or_throw(), 0);
}

std::size_t common(const std::set<std::uint64_t>& one, const std::set<std::uint64_t>& other) {
  return static_cast<std::size_t>(
      std::ranges::count_if(one, [&](std::uint64_t id) { return other.contains(id); }));
}

// 60 in-edges of one node.
TestGraph sixty() {
  return test::graph_of_lists(61, {numbers_from(1, 60)});
}

TEST_CASE("each in-edge is included equally often, at any step of dependence") {
  constexpr std::uint64_t kSeed = 2718, kRounds = sanitized(4000, 400);
  constexpr double kDegree = 60, kChance = 15.0 / 60;
  INFO("seed ", kSeed);
  const TestGraph graph = sixty();
  for (const Count count : {Count::kExact, Count::kPoisson}) {
    for (const std::uint64_t step : {0u, 5u, 15u}) {
      CAPTURE(step);
      LaborSampler sampler(graph.open(Held::k32),
                           {.fanout = {15}, .count = count, .dependence = 16},
                           kIds,
                           RandomKey(kSeed));
      std::vector<double> counts(60);
      double all = 0;
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        // Every second passage: two have no key in common.
        const DrawnIds drawn = draw(sampler, {0}, 32 * i + step);
        if (count == Count::kExact) REQUIRE(drawn.at(0).size() == 15);
        for (const std::uint64_t id : drawn.at(0)) ++counts[id - 1];
        all += static_cast<double>(drawn.at(0).size());
      }
      double sum = 0;
      for (const double found : counts) sum += std::pow(found - kRounds * kChance, 2);
      sum /= kRounds * kChance * (1 - kChance);
      // With an exact count inclusions hang together: one degree of freedom less.
      if (count == Count::kExact) sum *= (kDegree - 1) / kDegree;
      CHECK(sum < test::chi_square_limit(count == Count::kExact ? kDegree - 1 : kDegree));
      const double error = std::sqrt(kRounds * kDegree * kChance * (1 - kChance));
      CHECK(std::fabs(all - 15.0 * kRounds) < 4 * error);
    }
  }
}

TEST_CASE("with an exact count all samples of a list are equally likely") {
  constexpr std::uint64_t kSeed = 31, kRounds = sanitized(20'000, 2'000);
  INFO("seed ", kSeed);
  const TestGraph graph = test::graph_of_lists(6, {numbers_from(1, 5)});
  LaborSampler sampler(graph.open(Held::k32), {.fanout = {2}}, kIds, RandomKey(kSeed));
  std::map<std::set<std::uint64_t>, double> samples;
  for (std::uint64_t round = 0; round < kRounds; ++round)
    ++samples[draw(sampler, {0}, round).at(0)];
  REQUIRE(samples.size() == 10);
  std::vector<double> counts;
  for (const auto& [sample, found] : samples) counts.push_back(found);
  CHECK(test::fit(counts, std::vector<double>(10, 1), static_cast<double>(kRounds)) < 1);
}

TEST_CASE("parallel edges have one number, so that a node named twice counts for less than twice") {
  constexpr std::uint64_t kSeed = 6, kRounds = sanitized(10'000, 1'000);
  INFO("seed ", kSeed);
  TestGraph graph = test::make_graph({3});
  test::add_relation(graph, 0, 0, {{{1, 10}, {1, 11}, {2, 12}}, {}, {}});
  std::vector<double> counts(3);
  LaborSampler sampler(graph.open(Held::k32), {.fanout = {1}}, kIds, RandomKey(kSeed));
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const auto drawn = draw(sampler, {0}, round);
    for (const std::uint64_t id : drawn.at(0)) ++counts[id - 10];
  }
  CHECK(counts[1] == 0);  // the first of equals
  CHECK(test::fit({counts[0], counts[2]}, {1, 1}, static_cast<double>(kRounds)) < 1);
}

TEST_CASE("by weight, chances are those of the definitions") {
  constexpr std::uint64_t kSeed = 77, kRounds = sanitized(20'000, 3'000);
  INFO("seed ", kSeed);
  const std::vector<float> weights = {1, 2, 0, 3, 4, 0.5F, 9};
  TestGraph graph = test::graph_of_lists(8, {numbers_from(1, 7)});
  SamplerGraph opened = graph.open(Held::k32);
  opened.weights.push_back(test::weights_of_edges(weights));
  const auto counts_of = [&](Count count) {
    LaborSampler sampler(
        opened, {.fanout = {3}, .count = count, .weighted = true}, kIds, RandomKey(kSeed));
    std::vector<double> counts(7);
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const auto drawn = draw(sampler, {0}, round);
      for (const std::uint64_t id : drawn.at(0)) ++counts[id - 1];
    }
    return counts;
  };
  const std::vector<double> poisson = counts_of(Count::kPoisson);
  double sum = 0;
  for (const float weight : weights) sum += static_cast<double>(weight);
  double chi_square = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    const double chance = std::min(1.0, 3 * static_cast<double>(weights[i]) / sum);
    if (chance == 0 || chance == 1) {
      CHECK(poisson[i] == chance * static_cast<double>(kRounds));
    } else {
      chi_square += std::pow(poisson[i] - kRounds * chance, 2) / (kRounds * chance * (1 - chance));
    }
  }
  CHECK(chi_square < test::chi_square_limit(5));

  // Of the exact count no closed form is known: the least three of r / weight, drawn elsewhere.
  const std::vector<double> exact = counts_of(Count::kExact);
  CHECK(exact[2] == 0);
  constexpr double kTrials = 400'000;
  std::vector<double> chances(7);
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> uniform;
  for (int trial = 0; trial < static_cast<int>(kTrials); ++trial) {
    std::vector<std::pair<double, std::size_t>> race;
    for (std::size_t i = 0; i < 7; ++i) {
      if (weights[i] > 0) race.push_back({uniform(random) / static_cast<double>(weights[i]), i});
    }
    std::ranges::sort(race);
    for (std::size_t i = 0; i < 3; ++i) chances[race[i].second] += 1 / kTrials;
  }
  for (std::size_t i = 0; i < 7; ++i) {
    const double spread = chances[i] * (1 - chances[i]) * (1 / kTrials + 1.0 / kRounds);
    CHECK(std::fabs(exact[i] / kRounds - chances[i]) <= 4.5 * std::sqrt(spread));
  }
}

TEST_CASE("an exact count is min(fanout, degree) of any list, and of those with weight") {
  for (std::uint64_t seed = 0; seed < sanitized(30u, 10u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    for (const Held held : {Held::k64, Held::kHidden}) {
      LaborSampler sampler(
          graph.open(held),
          {.fanout = {9, 4}, .hub_degree = seed % 2 == 0 ? 0 : 50, .dependence = 3},
          test::kAllParts,
          RandomKey(seed));
      const auto seeds = test::random_seeds(graph, 0, 30, RandomKey(seed));
      const Batch batch = sampler.sample({.round = 7, .seeds = seeds}, nullptr).or_throw();
      for (std::size_t layer = 0; layer < 2; ++layer) {
        for (std::size_t r = 0; r < graph.edges.size(); ++r) {
          for (const auto& [target, ids] : drawn_ids(batch, layer, r))
            CHECK(ids.size() ==
                  std::min<std::size_t>(layer == 1 ? 9 : 4, graph.edges[r][target].size()));
        }
      }
    }
  }
}

TEST_CASE("targets of a layer prefer the same nodes") {
  constexpr std::uint64_t kSeed = 5, kRounds = 300;
  INFO("seed ", kSeed);
  // The same list twice, half of it, and another one.
  const TestGraph graph = test::graph_of_lists(
      200,
      {numbers_from(10, 60), numbers_from(10, 60), numbers_from(40, 60), numbers_from(120, 60)});
  const SamplerGraph opened = graph.open(Held::k32);
  const auto run = [&](Sampler& sampler) {
    std::array<double, 3> sum{};
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const DrawnIds drawn = draw(sampler, {0, 1, 2, 3}, round);
      std::set<std::uint64_t> distinct;
      for (const auto& [target, ids] : drawn) distinct.insert(ids.begin(), ids.end());
      sum[0] += static_cast<double>(common(drawn.at(0), drawn.at(1))) / kRounds;
      sum[1] += static_cast<double>(common(drawn.at(0), drawn.at(2))) / kRounds;
      sum[2] += static_cast<double>(distinct.size()) / kRounds;
    }
    return sum;
  };
  NeighborSampler neighbor(opened, {{15}}, kIds, RandomKey(kSeed));
  LaborSampler labor(opened, {.fanout = {15}}, kIds, RandomKey(kSeed));
  LaborSampler poisson(opened, {.fanout = {15}, .count = Count::kPoisson}, kIds, RandomKey(kSeed));
  const auto apart = run(neighbor), shared = run(labor), by_chance = run(poisson);
  CHECK(apart[0] == doctest::Approx(15 * 15 / 60.0).epsilon(0.1));
  CHECK(shared[0] == doctest::Approx(15));
  CHECK(apart[1] == doctest::Approx(15 * 15 / 60.0 / 2).epsilon(0.15));
  CHECK(shared[1] > 3 * apart[1]);
  // Distinct nodes: the sum of min(1, max of fanout / degree), against 1 - the product of others.
  CHECK(by_chance[2] == doctest::Approx((90 + 60) * 0.25).epsilon(0.03));
  CHECK(shared[2] == doctest::Approx((90 + 60) * 0.25).epsilon(0.05));
  CHECK(apart[2] == doctest::Approx(30 * (1 - std::pow(0.75, 2)) + 30 * (1 - std::pow(0.75, 3)) +
                                    30 * 0.25 + 60 * 0.25)
                        .epsilon(0.03));
}

TEST_CASE("layers have numbers of their own, unless they share them; so have epochs and rounds") {
  // Each node has in-edges from all, so that both layers draw for node 0.
  std::vector<std::vector<std::uint64_t>> lists(80, numbers_from(0, 80));
  const TestGraph graph = test::graph_of_lists(80, lists);
  const std::vector<std::uint64_t> seeds = {0};
  const auto run = [&](bool share, const SampleRequest& request) {
    LaborSampler sampler(
        graph.open(Held::k32), {.fanout = {9, 9}, .share_layers = share}, kIds, RandomKey(1));
    const Batch batch = sampler.sample(request, nullptr).or_throw();
    return std::pair(drawn_ids(batch, 1).at(0), drawn_ids(batch, 0).at(0));
  };
  const auto own = run(false, {.seeds = seeds});
  CHECK(own.first != own.second);
  const auto shared = run(true, {.seeds = seeds});
  CHECK(shared.first == shared.second);
  CHECK(own.first != run(false, {.epoch = 1, .seeds = seeds}).first);
  CHECK(own.first != run(false, {.round = 1, .seeds = seeds}).first);
  CHECK(own.first == run(false, {.index = 1, .seeds = seeds}).first);
}

TEST_CASE("a source has one number for all relations") {
  TestGraph graph = test::make_graph({10, 100});
  test::EdgeLists lists(10);
  for (std::uint64_t source = 0; source < 100; ++source) lists[3].push_back({source, source});
  test::add_relation(graph, 1, 0, lists);
  test::add_relation(graph, 1, 0, lists);
  LaborSampler sampler(graph.open(Held::kHidden), {.fanout = {20}}, kIds, RandomKey(8));
  const std::vector<std::uint64_t> seeds = {3};
  const Batch batch = sampler.sample({.seeds = seeds}, nullptr).or_throw();
  CHECK(drawn_ids(batch, 0, 0).at(3) == drawn_ids(batch, 0, 1).at(3));
  CHECK(batch.nodes[1].ids.numel() == 20);
}

// The mean over what is drawn, over many rounds, against the mean over the whole list.
void check_unbiased(const LaborSamplerOptions& options, std::uint64_t stride) {
  constexpr std::uint64_t kSeed = 99, kRounds = sanitized(4000, 500);
  INFO("seed ", kSeed);
  const TestGraph graph =
      test::graph_of_lists(100, {numbers_from(5, 40), numbers_from(20, 80), numbers_from(7, 3)});
  const auto value = [](std::uint64_t source) {
    return std::pow(RandomKey(kSeed).uniform(source), 3);
  };
  LaborSampler sampler(graph.open(Held::k32), options, kIds, RandomKey(kSeed));
  std::array<double, 3> sum{}, squares{}, times{};
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    for (const auto& [target, ids] : draw(sampler, {0, 1, 2}, stride * i)) {
      if (ids.empty()) continue;
      double mean = 0;
      for (const std::uint64_t id : ids) mean += value(id) / static_cast<double>(ids.size());
      sum[target] += mean;
      squares[target] += mean * mean;
      ++times[target];
    }
  }
  for (std::size_t target = 0; target < 3; ++target) {
    double expected = 0;
    const auto& list = graph.edges[0][target];
    for (const auto& edge : list) expected += value(edge.first) / static_cast<double>(list.size());
    const double mean = sum[target] / times[target];
    const double spread = std::sqrt(squares[target] / times[target] - mean * mean);
    CAPTURE(target);
    CHECK(std::fabs(mean - expected) < 4 * spread / std::sqrt(times[target]) + 1e-12);
  }
}

TEST_CASE("means over what is drawn are unbiased") {
  check_unbiased({.fanout = {6}}, 1);
  check_unbiased({.fanout = {6}, .hub_degree = 50}, 1);
  check_unbiased({.fanout = {2}, .count = Count::kPoisson}, 1);
  // Within passages, at a step that comes again: rounds of one passage in two.
  check_unbiased({.fanout = {6}, .dependence = 4}, 8 + 8);
  check_unbiased({.fanout = {6}, .dependence = 7}, 3);  // all steps: related rounds, the same mean
}

TEST_CASE("with dependence successive mini-batches draw alike, and later ones do not") {
  constexpr std::uint64_t kSeed = 12;
  INFO("seed ", kSeed);
  const TestGraph graph = sixty();
  const SamplerGraph opened = graph.open(Held::k32);
  // Edges that two rounds so far apart have in common, in the mean.
  const auto alike = [&](Sampler& sampler, std::uint64_t apart) {
    constexpr std::uint64_t kRounds = 400;
    double sum = 0;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      const std::uint64_t round = 401 * i;
      sum += static_cast<double>(
          common(draw(sampler, {0}, round).at(0), draw(sampler, {0}, round + apart).at(0)));
    }
    return sum / kRounds;
  };
  double before = 15 * 15 / 60.0 * 1.1;
  for (const std::int64_t dependence : {2, 8, 64}) {
    CAPTURE(dependence);
    LaborSampler labor(opened, {.fanout = {15}, .dependence = dependence}, kIds, RandomKey(kSeed));
    const double next = alike(labor, 1);
    CHECK(next > before);
    before = next;
    CHECK(alike(labor, static_cast<std::uint64_t>(2 * dependence)) ==
          doctest::Approx(15 * 15 / 60.0).epsilon(0.1));
  }
  LaborSampler labor(opened, {.fanout = {15}}, kIds, RandomKey(kSeed));
  CHECK(alike(labor, 1) == doctest::Approx(15 * 15 / 60.0).epsilon(0.1));
}

TEST_CASE("with dependence a node's neighbours are the same in a period, and anew in the next") {
  const TestGraph graph = sixty();
  const SamplerGraph opened = graph.open(Held::k32);
  NeighborSampler plain(opened, {{15}}, kIds, RandomKey(3));
  NeighborSampler sampler(opened, {.fanout = {15}, .dependence = 4}, kIds, RandomKey(3));
  for (std::uint64_t round = 0; round < 12; ++round)
    CHECK(draw(sampler, {0}, round) == draw(plain, {0}, round / 4));
  CHECK(draw(sampler, {0}, 3) != draw(sampler, {0}, 4));
}

}  // namespace
}  // namespace sluice
