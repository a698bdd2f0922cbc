// Random walks against the edge lists: where they go, and how often.
#include "batch_checks.h"
#include "chi_square.h"

#include "samplers/random_walk_sampler.h"

#include "support/expect_error.h"
#include "support/sanitized.h"

#include <sluice/no_node.h>

#include <doctest/doctest.h>

#include <map>

namespace sluice {
namespace {

using test::Held;
using test::sanitized;
using test::TestGraph;

using Node = std::pair<std::int32_t, std::uint64_t>;  // type and id
using Walk = std::vector<Node>;

std::vector<Walk> list_walks(const RandomWalker::Walks& walks) {
  const auto nodes = walks.nodes.as<std::uint64_t>();
  const auto types = walks.types.as<std::int32_t>();
  const auto length = static_cast<std::size_t>(walks.nodes.size(1));
  std::vector<Walk> list(static_cast<std::size_t>(walks.nodes.size(0)));
  for (std::size_t i = 0; i < nodes.size(); ++i) list[i / length].push_back({types[i], nodes[i]});
  return list;
}

// The sources of a node's in-edges over all relations, as often as they have edges to it.
std::map<Node, double> sources_of(const TestGraph& graph, const Node& node) {
  std::map<Node, double> sources;
  for (const SampledRelation& relation : resolve_relations(graph.open(Held::k32))) {
    if (static_cast<std::int32_t>(relation.target_type) != node.first) continue;
    for (const auto& [source, id] : graph.edges[relation.index][node.second])
      sources[{static_cast<std::int32_t>(relation.source_type), source}] += 1;
  }
  return sources;
}

TEST_CASE("walks go from their seeds along in-edges, and end where there are none") {
  for (std::uint64_t seed = 0; seed < sanitized(60u, 8u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const std::vector<double> biases = {1, 0.25, 4};
    const RandomWalkOptions options{
        .length = 6, .walks = 3, .p = biases[seed % 3], .q = biases[seed / 3 % 3]};
    RandomWalker resident(graph.open(Held::k32), options, RandomKey(seed));
    RandomWalker hidden(graph.open(Held::kHidden), options, RandomKey(seed));
    const std::size_t type = seed % graph.schema.nodes.size();
    auto seeds = test::random_seeds(graph, type, 8, RandomKey(seed));
    seeds.push_back(seeds[0]);  // seeds of walks may repeat
    const SampleRequest request{.round = seed, .seeds = {seeds, type}};
    const auto walks = resident.walk(request, nullptr).or_throw();
    REQUIRE(walks.nodes.shape() == Array::Shape{static_cast<std::int64_t>(3 * seeds.size()), 7});
    REQUIRE(walks.types.shape() == walks.nodes.shape());
    const auto list = list_walks(walks);
    for (std::size_t row = 0; row < list.size(); ++row) {
      REQUIRE(list[row][0] == Node(static_cast<std::int32_t>(type), seeds[row / 3]));
      for (std::size_t at = 0; at < 6; ++at) {
        const Node& next = list[row][at + 1];
        if (list[row][at].first < 0 || sources_of(graph, list[row][at]).empty()) {
          REQUIRE(next == Node(-1, kNoNode));
        } else {
          REQUIRE(sources_of(graph, list[row][at]).contains(next));
        }
      }
    }
    REQUIRE(list_walks(hidden.walk(request, nullptr).or_throw()) == list);
    REQUIRE(list.back() == list[2]);  // the same seed, the same third walk
  }
}

// Two types, loops, repeated edges, edges there and back, and a triangle.
TestGraph walked_graph() {
  TestGraph graph = test::make_graph({4, 3});
  test::add_relation(graph,
                     0,
                     0,
                     {{{1, 0}, {2, 1}, {2, 2}, {3, 3}},
                      {{0, 4}, {2, 5}, {3, 6}},
                      {{0, 7}, {1, 8}, {2, 9}, {3, 10}},
                      {{0, 11}, {1, 12}}});
  test::add_relation(graph, 1, 0, {{{0, 0}, {1, 1}}, {{1, 2}}, {}, {{2, 3}, {2, 4}}});
  test::add_relation(graph, 0, 1, {{{0, 0}, {1, 1}}, {{0, 2}, {1, 3}, {3, 4}}, {{3, 5}, {2, 6}}});
  return graph;
}

// node2vec's weights of the step from `at` after the one from `before`.
std::map<Node, double> exact_weights(
    const TestGraph& graph, const Node& before, const Node& at, double p, double q) {
  auto weights = sources_of(graph, at);
  const auto near = sources_of(graph, before);
  for (auto& [node, weight] : weights)
    weight *= node == before ? 1 / p : near.contains(node) ? 1 : 1 / q;
  return weights;
}

TEST_CASE("steps are taken as often as node2vec's second-order probabilities say") {
  const TestGraph graph = walked_graph();
  const std::vector<std::uint64_t> seeds = {0, 1, 2, 3};
  constexpr std::uint64_t kRounds = sanitized(3000, 300);
  for (const auto& [p, q] : std::vector<std::pair<double, double>>{
           {1, 1}, {0.25, 1}, {4, 1}, {1, 0.25}, {1, 4}, {0.5, 2}, {3, 0.2}}) {
    CAPTURE(p);
    CAPTURE(q);
    RandomWalker walker(
        graph.open(Held::k32), {.length = 12, .walks = 2, .p = p, .q = q}, RandomKey(99));
    std::map<std::pair<Node, Node>, std::map<Node, double>> counts;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const auto walks = walker.walk({.round = round, .seeds = seeds}, nullptr).or_throw();
      for (const Walk& walk : list_walks(walks)) {
        for (std::size_t at = 1; at < 12; ++at) ++counts[{walk[at - 1], walk[at]}][walk[at + 1]];
      }
    }
    double sum = 0, degrees = 0;
    for (auto& [state, next] : counts) {
      const auto weights = exact_weights(graph, state.first, state.second, p, q);
      double trials = 0, total = 0;
      for (const auto& [node, count] : next) trials += count;
      for (const auto& [node, weight] : weights) total += weight;
      std::vector<double> found, expected;
      for (const auto& [node, weight] : weights) {
        found.push_back(next[node]);
        expected.push_back(trials * weight / total);
      }
      REQUIRE(next.size() == weights.size());  // nothing else was visited
      if (*std::min_element(expected.begin(), expected.end()) < 5) continue;  // too few to judge
      sum += test::chi_square(found, expected);
      degrees += static_cast<double>(weights.size()) - 1;
    }
    INFO("seed 99, degrees ", degrees);
    CHECK(degrees > 40);
    CHECK(sum < test::chi_square_limit(degrees));
  }
}

TEST_CASE("first steps are uniform over in-edges") {
  const TestGraph graph = walked_graph();
  const std::vector<std::uint64_t> seeds = {0};
  RandomWalker walker(graph.open(Held::k32), {.length = 1, .walks = 10, .q = 9}, RandomKey(7));
  std::map<Node, double> counts;
  constexpr std::uint64_t kRounds = sanitized(3000, 300);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (const Walk& walk :
         list_walks(walker.walk({.round = round, .seeds = seeds}, nullptr).or_throw()))
      ++counts[walk[1]];
  }
  std::vector<double> found, expected;
  for (const auto& [node, edges] : sources_of(graph, {0, 0})) {
    found.push_back(counts[node]);
    expected.push_back(10.0 * kRounds * edges / 6);
  }
  CHECK(test::chi_square(found, expected) < test::chi_square_limit(4));
}

TEST_CASE("a walk does not depend on the walks beside it; epochs, rounds and seeds differ") {
  const TestGraph graph = test::random_graph(11);
  const RandomWalkOptions options{.length = 8, .walks = 2, .p = 0.5, .q = 2};
  RandomWalker walker(graph.open(Held::k32), options, RandomKey(1));
  RandomWalker reseeded(graph.open(Held::k32), options, RandomKey(2));
  const auto seeds = test::random_seeds(graph, 0, 20, RandomKey(3));
  const auto all = list_walks(walker.walk({.seeds = seeds}, nullptr).or_throw());
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const auto alone =
        list_walks(walker.walk({.seeds = std::span(&seeds[i], 1)}, nullptr).or_throw());
    CHECK(alone[0] == all[2 * i]);
    CHECK(alone[1] == all[2 * i + 1]);
  }
  CHECK(list_walks(walker.walk({.epoch = 1, .seeds = seeds}, nullptr).or_throw()) != all);
  CHECK(list_walks(walker.walk({.round = 1, .seeds = seeds}, nullptr).or_throw()) != all);
  CHECK(list_walks(reseeded.walk({.seeds = seeds}, nullptr).or_throw()) != all);
}

TEST_CASE("a random-walk batch has the nodes of its walks, and all edges among them") {
  for (std::uint64_t seed = 0; seed < sanitized(40u, 10u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const RandomWalkSamplerOptions options{{.length = 5, .walks = 2, .p = 2, .q = 0.5}, 2};
    RandomWalkSampler sampler(graph.open(Held::k32), options, {.edge_ids = true}, RandomKey(seed));
    RandomWalker walker(graph.open(Held::k32), options.walk, RandomKey(seed));
    const auto seeds = test::random_seeds(graph, 0, 10, RandomKey(seed));
    const Batch batch = sampler.sample({.seeds = seeds}, nullptr).or_throw();
    std::set<Node> visited, listed;
    for (const Walk& walk : list_walks(walker.walk({.seeds = seeds}, nullptr).or_throw()))
      visited.insert(walk.begin(), walk.end());
    visited.erase({-1, kNoNode});
    for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
      for (const std::uint64_t id : batch.nodes[type].ids.as<std::uint64_t>())
        listed.insert({static_cast<std::int32_t>(type), id});
    }
    CHECK(listed == visited);
    for (const Block& block : batch.layers[0]) {
      std::vector<std::uint64_t> expected;
      for (const std::uint64_t target : batch.nodes[block.target_type].ids.as<std::uint64_t>()) {
        for (const auto& [source, id] : graph.edges[block.relation][target]) {
          if (listed.contains({static_cast<std::int32_t>(block.source_type), source}))
            expected.push_back(id);
        }
      }
      const auto found = block.edge_ids.as<std::uint64_t>();
      CHECK(std::vector(found.begin(), found.end()) == expected);
    }
  }
}

TEST_CASE("wrong walks are errors that say what is wrong") {
  const TestGraph graph = test::random_graph(4);
  const auto make = [&](RandomWalkOptions options) {
    return test::expect_error([&] { RandomWalker(graph.open(Held::k32), options, RandomKey(1)); });
  };
  CHECK(make({.length = 0}).code() == ErrorCode::kUsage);
  CHECK(make({.walks = -1}).code() == ErrorCode::kUsage);
  CHECK(make({.p = 0}).message() == "[sampler] p = 0 is not between 0.01 and 100");
  CHECK(make({.q = 1e9}).code() == ErrorCode::kUsage);
  const auto no_layers = test::expect_error([&] {
    RandomWalkSampler(graph.open(Held::k32), {{}, 0}, {}, RandomKey(1));
  });
  CHECK(no_layers.code() == ErrorCode::kUsage);
  RandomWalker walker(graph.open(Held::k32), {}, RandomKey(1));
  const std::vector<std::uint64_t> beyond = {100000};
  const auto outside = walker.walk({.seeds = beyond}, nullptr);
  REQUIRE_FALSE(outside);
  CHECK(outside.error().code() == ErrorCode::kData);
}

}  // namespace
}  // namespace sluice
