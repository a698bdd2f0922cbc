// Floors, the graph they go over, and groups of nodes: against dense products and sets.
#include "probe/floors.h"
#include "probe/node_groups.h"
#include "probe/support.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace sluice;
using namespace sluice::test;
using torch::Tensor;

namespace {

constexpr std::int64_t kNodes = 60;

// Edges of both directions, some of them twice, and a loop; the last node has none.
Pairs some_edges(RandomKey key) {
  Pairs edges = drawn_pairs(std::uint64_t{kNodes} - 1, 150, key);
  edges.emplace_back(3, 3);
  edges.push_back(edges.front());
  edges.emplace_back(edges[1].second, edges[1].first);
  return edges;
}

std::vector<std::set<std::uint64_t>> neighbour_sets(const Pairs& edges) {
  std::vector<std::set<std::uint64_t>> sets(std::size_t{kNodes});
  for (const auto& [a, b] : edges) {
    if (a == b) continue;
    sets[a].insert(b);
    sets[b].insert(a);
  }
  return sets;
}

// D^-1/2 (A + I) D^-1/2, f64.
Tensor dense_hop(const Pairs& edges) {
  Tensor a = torch::eye(kNodes, torch::kFloat64);
  for (const auto& [from, to] : edges) {
    if (from == to) continue;
    a[static_cast<std::int64_t>(from)][static_cast<std::int64_t>(to)].fill_(1);
    a[static_cast<std::int64_t>(to)][static_cast<std::int64_t>(from)].fill_(1);
  }
  const Tensor roots = a.sum(1).rsqrt();
  return roots.unsqueeze(1) * a * roots.unsqueeze(0);
}

void check_near(const Tensor& found, const Tensor& expected) {
  REQUIRE((found.sizes() == expected.sizes()));
  CHECK((found.to(torch::kFloat64) - expected).abs().max().item<double>() < 1e-5);
}

}  // namespace

TEST_CASE("a plain graph holds each pair once, both ways, and charges what it takes") {
  const Pairs edges = some_edges(RandomKey(1));
  const auto sets = neighbour_sets(edges);
  MemoryLedger ledger;
  {
    const probe::PlainGraph graph = graph_of(std::uint64_t{kNodes}, edges, &ledger);
    CHECK(ledger.used() > 0);
    CHECK(graph.nodes() == std::uint64_t{kNodes});
    std::uint64_t ends = 0;
    for (std::uint64_t node = 0; node < std::uint64_t{kNodes}; ++node) {
      const auto found = graph.neighbours(node);
      CHECK(std::ranges::equal(found, sets[node]));
      CHECK(graph.degree(node) == sets[node].size());
      ends += sets[node].size();
      for (std::uint64_t other = 0; other < std::uint64_t{kNodes}; ++other)
        CHECK(graph.linked(node, other) == sets[node].contains(other));
    }
    CHECK(graph.pairs() == ends / 2);
  }
  CHECK(ledger.used() == 0);
  CHECK(graph_of(3, {}).pairs() == 0);
}

TEST_CASE("SGC and a random encoder are dense products, the same with any threads") {
  const Pairs edges = some_edges(RandomKey(2));
  const probe::PlainGraph graph = graph_of(std::uint64_t{kNodes}, edges);
  const Tensor x = normal_rows(kNodes, 9, RandomKey(3));
  const Tensor hop = dense_hop(edges);
  ThreadArena one(1), four(4);
  const Tensor found = probe::sgc_rows(x, graph, 3, one);
  check_near(found, hop.mm(hop.mm(hop.mm(x.to(torch::kFloat64)))));
  CHECK(probe::sgc_rows(x, graph, 3, four).equal(found));
  CHECK(probe::sgc_rows(x, graph, 0, one).equal(x));

  const probe::RandomEncoderOptions options{.width = 16, .layers = 2};
  const Tensor encoded = probe::random_encoder_rows(x, graph, options, RandomKey(5), one);
  CHECK((encoded.size(0) == kNodes && encoded.size(1) == 16));
  CHECK(probe::random_encoder_rows(x, graph, options, RandomKey(5), four).equal(encoded));
  CHECK_FALSE(probe::random_encoder_rows(x, graph, options, RandomKey(6), one).equal(encoded));
  // A node without edges is its own product alone: no hop changes it.
  CHECK(found[kNodes - 1].equal(x[kNodes - 1]));
  const Error unfit =
      expect_error([&] { (void)probe::sgc_rows(normal_rows(5, 2, RandomKey(1)), graph, 1, one); });
  CHECK(unfit.code() == ErrorCode::kUsage);
}

TEST_CASE("distances are those of a search by rounds") {
  const Pairs edges = drawn_pairs(std::uint64_t{kNodes} - 1, 70, RandomKey(8));
  const auto sets = neighbour_sets(edges);
  const Tensor from = torch::tensor({4, 17, 4}, torch::kInt64);
  std::vector<std::int64_t> expected(std::size_t{kNodes}, -1);
  expected[4] = expected[17] = 0;
  for (std::int64_t step = 0; step < kNodes; ++step)
    for (std::uint64_t node = 0; node < std::uint64_t{kNodes}; ++node)
      for (const std::uint64_t other : sets[node])
        if (expected[node] == step && expected[other] < 0) expected[other] = step + 1;
  const Tensor found = probe::distances(graph_of(std::uint64_t{kNodes}, edges), from, nullptr);
  CHECK(found.equal(torch::tensor(expected, torch::kInt64)));
}

TEST_CASE("groups of a path: by distance and by degree, equal degrees together") {
  const probe::PlainGraph graph = graph_of(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  probe::ProbedNodes probed;
  probed.tested = torch::tensor({1, 2, 3, 4, 5}, torch::kInt64);
  probed.right = torch::tensor({1, 0, 1, 1, 0}, torch::kInt64).to(torch::kBool);
  const probe::NodeGroups groups =
      probe::accuracy_by_group(probed, graph, torch::tensor({0}, torch::kInt64), nullptr);
  const auto check = [](const probe::NodeGroup& group,
                        const std::string& name,
                        std::uint64_t nodes,
                        double accuracy) {
    CHECK(group.name == name);
    CHECK(group.nodes == nodes);
    CHECK(group.accuracy == doctest::Approx(accuracy));
  };
  REQUIRE(groups.by_distance.size() == 4);
  check(groups.by_distance[0], "1", 1, 1);
  check(groups.by_distance[1], "2", 1, 0);
  check(groups.by_distance[2], "3+", 2, 1);
  check(groups.by_distance[3], "unreachable", 1, 0);
  REQUIRE(groups.by_degree.size() == 3);
  check(groups.by_degree[0], "0-0", 1, 0);
  check(groups.by_degree[1], "1-1", 1, 1);
  check(groups.by_degree[2], "2-2", 3, 2.0 / 3);
}

TEST_CASE("groups of nodes charge what they take, and are refused where there is no room") {
  constexpr std::uint64_t kMany = 5000;
  constexpr std::uint64_t kReached = 4 * kMany, kTested = 24 * kMany;
  Pairs path;
  for (std::uint64_t node = 1; node < kMany; ++node) path.emplace_back(node - 1, node);
  const probe::PlainGraph graph = graph_of(kMany, path);
  const Tensor trained = torch::tensor({0}, torch::kInt64);
  probe::ProbedNodes probed;
  probed.tested = torch::arange(std::int64_t{kMany});
  probed.right = torch::ones({std::int64_t{kMany}}, torch::kBool);

  MemoryLedger ledger;
  CHECK(probe::distances(graph, trained, &ledger).equal(probed.tested));
  CHECK(ledger.peak() >= kReached);
  const probe::NodeGroups groups = probe::accuracy_by_group(probed, graph, trained, &ledger);
  CHECK(groups.by_distance[2].nodes == kMany - 3);
  CHECK(ledger.peak() >= kTested);
  CHECK(ledger.used() == 0);
  CHECK(probe::group_bytes(kMany, kMany) == 8 * kMany + kTested);
  CHECK(probe::group_bytes(kMany, 1) == 8 * kMany + kReached);

  MemoryLedger enough(kTested), short_of_tested(kTested - 1), short_of_reached(kReached - 1);
  CHECK(probe::accuracy_by_group(probed, graph, trained, &enough).by_degree.size() ==
        groups.by_degree.size());
  for (MemoryLedger* poor : {&short_of_tested, &short_of_reached}) {
    const Error error =
        expect_error([&] { (void)probe::accuracy_by_group(probed, graph, trained, poor); });
    CHECK(error.code() == ErrorCode::kResource);
    CHECK(error.message().find("node groups") != std::string::npos);
    CHECK(poor->used() == 0);
  }
}
