// Which old nodes a replay buffer keeps: against plain searches over all edges.
#include "samplers/replay_choice.h"
#include "samplers/replay_support.h"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kChoiceSeed = 37;

NodeList first_numbers(std::uint64_t count) {
  NodeList all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

ReplayChoice chosen_by_structure(const NodeList& candidates,
                                 std::uint64_t nodes,
                                 const EdgeList& edges,
                                 std::uint64_t count,
                                 RandomKey key) {
  const ReplayGraph graph = ReplayGraph::make(nodes, pass_of(edges), nullptr).or_throw();
  return choose_by_structure(graph, candidates, count, key, nullptr).or_throw();
}

}  // namespace

TEST_CASE("lists of a replay graph hold each edge from both ends") {
  MESSAGE("seed " << kChoiceSeed);
  for (const std::uint64_t nodes : {1u, 7u, 40u}) {
    const EdgeList edges = draw_edges(nodes, 3 * nodes, RandomKey(kChoiceSeed).with(nodes));
    const ReplayGraph graph = ReplayGraph::make(nodes, pass_of(edges), nullptr).or_throw();
    REQUIRE(graph.num_nodes() == nodes);
    for (std::uint64_t node = 0; node < nodes; ++node) {
      std::multiset<std::uint64_t> expected;
      for (const auto& [one, other] : edges) {
        if (one == node) expected.insert(other);
        if (other == node) expected.insert(one);
      }
      const auto have = graph.neighbours(node);
      CHECK(std::multiset<std::uint64_t>(have.begin(), have.end()) == expected);
    }
  }
}

TEST_CASE("by structure: the farthest first, as a search over all edges says, in parts too") {
  MESSAGE("seed " << kChoiceSeed);
  constexpr std::uint64_t kNodes = 60;
  for (const std::uint64_t num_edges : {0u, 20u, 50u, 120u}) {  // from no edge to one part
    CAPTURE(num_edges);
    const RandomKey key = RandomKey(kChoiceSeed).with(num_edges);
    const EdgeList edges = draw_edges(kNodes, num_edges, key.with("edges"));
    // Some nodes are on the way between candidates, and are none.
    NodeList some;
    for (std::uint64_t node = 0; node < kNodes; node += node % 3 == 0 ? 1U : 2U)
      some.push_back(node);
    for (const NodeList& candidates : {first_numbers(kNodes), some}) {
      for (const std::uint64_t count : {0u, 1u, 5u, 20u, 100u}) {
        CAPTURE(count);
        const ReplayChoice choice = chosen_by_structure(candidates, kNodes, edges, count, key);
        const auto [nodes, weights] = choose_plainly(candidates, kNodes, edges, count, key);
        CHECK(list_of(choice.nodes.as<std::uint64_t>()) == nodes);
        CHECK(list_of(choice.weights.as<std::uint64_t>()) == weights);
      }
    }
  }
}

TEST_CASE("by structure: no choice of as many leaves less than half as many hops") {
  // Eight nodes: all pairs may be looked at.
  constexpr std::uint64_t kNodes = 8;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EdgeList edges = draw_edges(kNodes, 4, RandomKey(seed));
    for (std::uint64_t node = 1; node < kNodes; ++node) edges.emplace_back(node / 2, node);
    const auto most_hops = [&](const NodeList& chosen) {
      std::uint64_t most = 0;
      std::vector<NodeList> hops;
      for (const std::uint64_t node : chosen) hops.push_back(hops_from(node, kNodes, edges));
      for (std::uint64_t node = 0; node < kNodes; ++node) {
        std::uint64_t least = kUnreached;
        for (const NodeList& from : hops) least = std::min(least, from[node]);
        most = std::max(most, least);
      }
      return most;
    };
    std::uint64_t best = kUnreached;
    for (std::uint64_t a = 0; a < kNodes; ++a)
      for (std::uint64_t b = a + 1; b < kNodes; ++b) best = std::min(best, most_hops({a, b}));
    const ReplayChoice choice = chosen_by_structure(
        first_numbers(kNodes), kNodes, edges, 2, RandomKey(seed).with("choice"));
    CHECK(most_hops(list_of(choice.nodes.as<std::uint64_t>())) <= 2 * best);
  }
}

TEST_CASE("uniformly: each node as often as any, by the key alone") {
  constexpr std::uint64_t kNodes = 50, kCount = 10, kDraws = 4000;
  std::vector<std::uint64_t> times(kNodes);
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const RandomKey key = RandomKey(kChoiceSeed).with(draw);
    const ReplayChoice choice =
        choose_uniformly(first_numbers(kNodes), kCount, key, nullptr).or_throw();
    REQUIRE(choice.nodes.numel() == kCount);
    for (const std::uint64_t node : choice.nodes.as<std::uint64_t>()) ++times[node];
    if (draw != 0) continue;
    NodeList backwards = first_numbers(kNodes);
    std::ranges::reverse(backwards);
    const ReplayChoice same = choose_uniformly(backwards, kCount, key, nullptr).or_throw();
    CHECK(list_of(same.nodes.as<std::uint64_t>()) == list_of(choice.nodes.as<std::uint64_t>()));
  }
  // 800 expected, standard deviation 25.
  for (const std::uint64_t count : times) {
    CHECK(count > 650);
    CHECK(count < 950);
  }
  const ReplayChoice all = choose_uniformly(first_numbers(4), 9, RandomKey(1), nullptr).or_throw();
  CHECK(all.nodes.numel() == 4);
  CHECK(list_of(all.weights.as<std::uint64_t>()) == NodeList{1, 1, 1, 1});
}

TEST_CASE("a choice is charged, and refused where there is no room") {
  const EdgeList edges = draw_edges(1000, 4000, RandomKey(kChoiceSeed));
  MemoryLedger small(4000, "test");
  const auto refused = ReplayGraph::make(1000, pass_of(edges), &small);
  REQUIRE(!refused);
  CHECK(refused.error().code() == ErrorCode::kResource);
  MemoryLedger ledger;
  const ReplayGraph graph = ReplayGraph::make(1000, pass_of(edges), &ledger).or_throw();
  const std::uint64_t kept = ledger.used();
  CHECK(kept >= 8 * 1000 + 16 * 4000);
  {
    const ReplayChoice choice =
        choose_by_structure(graph, first_numbers(1000), 30, RandomKey(2), &ledger).or_throw();
    CHECK(choice.nodes.numel() == 30);
  }
  CHECK(ledger.used() == kept);
}
