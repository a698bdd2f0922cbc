// LADIES: who is drawn how often, against probabilities worked out from the dense adjacency.
#include "batch_checks.h"
#include "chi_square.h"

#include "samplers/exponential.h"
#include "samplers/ladies_sampler.h"

#include "support/expect_error.h"
#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

namespace sluice {
namespace {

using test::Held;
using test::sanitized;
using test::TestGraph;

using test::kAllParts;

// By node of a type: the sum of squared entries of its columns in the row-normalised adjacencies,
// over the rows of the frontier (by type).
std::map<std::uint64_t, double> brute_force_weights(
    const TestGraph& graph,
    const std::vector<std::vector<std::uint64_t>>& frontier,
    std::size_t type) {
  std::map<std::uint64_t, double> weights;
  for (const SampledRelation& relation : resolve_relations(graph.open(Held::k32))) {
    if (relation.source_type != type) continue;
    for (const std::uint64_t target : frontier[relation.target_type]) {
      const auto& in_edges = graph.edges[relation.index][target];
      std::map<std::uint64_t, double> row;
      for (const auto& [source, id] : in_edges)
        row[source] += 1.0 / static_cast<double>(in_edges.size());
      for (const auto& [source, entry] : row) weights[source] += entry * entry;
    }
  }
  return weights;
}

std::vector<std::vector<std::uint64_t>> frontier_of(const Batch& batch, std::size_t boundary) {
  std::vector<std::vector<std::uint64_t>> lists;
  for (const BatchNodes& nodes : batch.nodes) {
    const auto ids = nodes.ids.as<std::uint64_t>();
    lists.emplace_back(ids.begin(), ids.begin() + nodes.size_at[boundary]);
  }
  return lists;
}

TEST_CASE("a layer has so many nodes a type, all candidates, and all edges to its frontier") {
  for (std::uint64_t seed = 0; seed < sanitized(60u, 15u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const LadiesSamplerOptions options{{6, 9, 3}};
    LadiesSampler sampler(graph.open(Held::k32), options, kAllParts, RandomKey(seed));
    const std::size_t type = seed % graph.schema.nodes.size();
    const auto seeds = test::random_seeds(graph, type, 7, RandomKey(seed));
    const auto [batch, probabilities] =
        sampler.sample_weighted({.seeds = {seeds, type}}, nullptr).or_throw();
    for (std::size_t layer = 0; layer < 3; ++layer) {
      const auto frontier = frontier_of(batch, layer + 1);
      const auto sources = frontier_of(batch, layer);
      for (std::size_t t = 0; t < sources.size(); ++t) {
        const auto weights = brute_force_weights(graph, frontier, t);
        const auto count = static_cast<std::size_t>(options.nodes[2 - layer]);
        REQUIRE(sources[t].size() - frontier[t].size() <= count);
        double sum = 0, drawn = 0;
        for (const auto& [node, weight] : weights) sum += weight;
        const auto p = probabilities[layer][t].as<double>();
        REQUIRE(p.size() == sources[t].size());
        for (std::size_t row = 0; row < p.size(); ++row) {
          const auto at = weights.find(sources[t][row]);
          const double expected = at == weights.end() ? 0 : at->second / sum;
          REQUIRE(p[row] == doctest::Approx(expected).epsilon(1e-9));
          if (row >= frontier[t].size()) REQUIRE(p[row] > 0);
          drawn += p[row] > 0 ? 1 : 0;
        }
        // Those drawn that were in the frontier already are no new rows.
        REQUIRE(drawn >= static_cast<double>(std::min(count, weights.size())));
      }
      for (const Block& block : batch.layers[layer]) {
        const auto& rows = sources[block.source_type];
        const std::set<std::uint64_t> known(rows.begin(), rows.end());
        std::vector<std::uint64_t> expected;
        for (const std::uint64_t target : frontier[block.target_type]) {
          for (const auto& [source, id] : graph.edges[block.relation][target]) {
            if (known.contains(source)) expected.push_back(id);
          }
        }
        const auto found = block.edge_ids.as<std::uint64_t>();
        REQUIRE(std::vector(found.begin(), found.end()) == expected);
      }
    }
  }
}

// Two targets with in-edges of unlike weight from seven nodes, some of them several times, through
// two relations.
TestGraph layered_graph() {
  TestGraph graph = test::make_graph({2, 7});
  test::add_relation(
      graph, 1, 0, {{{0, 0}, {1, 1}, {2, 2}, {2, 3}, {3, 4}}, {{2, 5}, {3, 6}, {4, 7}, {4, 8}}});
  test::add_relation(graph, 1, 0, {{{5, 0}, {6, 1}, {6, 2}}, {}});
  return graph;
}

// The probability of drawing the set `wanted` of three, one after the other.
double set_probability(const std::vector<double>& weights, std::vector<std::size_t> wanted) {
  double sum = 0, all = 0;
  for (const double weight : weights) all += weight;
  std::sort(wanted.begin(), wanted.end());
  do {
    double chance = 1, left = all;
    for (const std::size_t i : wanted) {
      chance *= weights[i] / left;
      left -= weights[i];
    }
    sum += chance;
  } while (std::next_permutation(wanted.begin(), wanted.end()));
  return sum;
}

TEST_CASE("every set of nodes is drawn as often as successive draws by weight say") {
  const TestGraph graph = layered_graph();
  const std::vector<std::uint64_t> seeds = {1, 0};
  std::vector<double> weights;
  for (const auto& [node, weight] : brute_force_weights(graph, {{0, 1}, {}}, 1))
    weights.push_back(weight);
  REQUIRE(weights.size() == 7);
  constexpr std::uint64_t kRounds = sanitized(100000, 10000);
  std::map<std::vector<std::size_t>, double> counts;
  LadiesSampler sampler(graph.open(Held::k32), {{3}}, {}, RandomKey(71));
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const Batch batch = sampler.sample({.round = round, .seeds = seeds}, nullptr).or_throw();
    const auto ids = batch.nodes[1].ids.as<std::uint64_t>();
    std::vector<std::size_t> set(ids.begin(), ids.end());
    std::sort(set.begin(), set.end());
    REQUIRE(set.size() == 3);
    counts[set] += 1;
  }
  std::vector<double> found, expected;
  for (std::size_t a = 0; a < 7; ++a) {
    for (std::size_t b = a + 1; b < 7; ++b) {
      for (std::size_t c = b + 1; c < 7; ++c) {
        found.push_back(counts[{a, b, c}]);
        expected.push_back(kRounds * set_probability(weights, {a, b, c}));
      }
    }
  }
  INFO("seed 71");
  CHECK(counts.size() == 35);
  CHECK(test::chi_square(found, expected) < test::chi_square_limit(34));
}

TEST_CASE("whether a node is drawn is a matter of its own number and weight, not of order") {
  TestGraph graph = layered_graph();
  const std::vector<std::uint64_t> one = {0, 1}, other = {1, 0};
  LadiesSampler sampler(graph.open(Held::k32), {{3}}, {}, RandomKey(5));
  for (std::uint64_t round = 0; round < 50; ++round) {
    const auto drawn = [&](std::span<const std::uint64_t> seeds) {
      const Batch batch = sampler.sample({.round = round, .seeds = seeds}, nullptr).or_throw();
      const auto ids = batch.nodes[1].ids.as<std::uint64_t>();
      return std::set(ids.begin(), ids.end());
    };
    CHECK(drawn(one) == drawn(other));
  }
}

TEST_CASE("epochs, rounds, hops and seeds draw on their own") {
  TestGraph graph = test::make_graph({200});
  test::add_relation(graph, 0, 0, test::random_lists(200, 200, RandomKey(9)));
  const auto seeds = test::random_seeds(graph, 0, 40, RandomKey(1));
  LadiesSampler sampler(graph.open(Held::k32), {{20}}, {}, RandomKey(1));
  LadiesSampler reseeded(graph.open(Held::k32), {{20}}, {}, RandomKey(2));
  const auto hash = [&](LadiesSampler& of, std::uint64_t epoch, std::uint64_t round) {
    return hash_batch(
        of.sample({.epoch = epoch, .round = round, .seeds = seeds}, nullptr).or_throw());
  };
  const auto base = hash(sampler, 0, 0);
  CHECK(hash(sampler, 0, 0) == base);
  CHECK(hash(sampler, 0, 1) != base);
  CHECK(hash(sampler, 1, 0) != base);
  CHECK(hash(reseeded, 0, 0) != base);
}

TEST_CASE("the logarithm is one") {
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const double x = std::ldexp(1 + RandomKey(1).uniform(i), -static_cast<int>(i % 60));
    REQUIRE(portable_log(x) == doctest::Approx(std::log(x)).epsilon(1e-14));
  }
  CHECK(portable_log(1) == 0);
  CHECK(exponential(0) == doctest::Approx(53 * std::log(2)));
  CHECK(exponential(~std::uint64_t{0}) > 0);
}

TEST_CASE("a negative number of nodes is an error") {
  const TestGraph graph = layered_graph();
  const auto error = test::expect_error([&] {
    LadiesSampler(graph.open(Held::k32), {{5, -1}}, {}, RandomKey(1));
  });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message().find("-1") != std::string::npos);
}

}  // namespace
}  // namespace sluice
