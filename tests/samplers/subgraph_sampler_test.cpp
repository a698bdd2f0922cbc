// The subgraph sampler and the induced subgraph below it, against brute force over edge lists.
#include "batch_checks.h"

#include "samplers/subgraph_sampler.h"

#include "support/expect_error.h"
#include "support/sanitized.h"

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

using test::kAllParts;
using NodeSets = std::vector<std::set<std::uint64_t>>;  // by type

NodeSets nodes_of(const Batch& batch) {
  NodeSets sets;
  for (const BatchNodes& nodes : batch.nodes) {
    const auto ids = nodes.ids.as<std::uint64_t>();
    sets.emplace_back(ids.begin(), ids.end());
  }
  return sets;
}

NodeSets brute_force_hops(const TestGraph& graph, const SampleRequest& request, std::size_t hops) {
  NodeSets sets(graph.schema.nodes.size());
  for (std::size_t type = 0; type < request.seeds.num_types(); ++type) {
    const auto seeds = request.seeds.of(type);
    sets[type].insert(seeds.begin(), seeds.end());
  }
  for (std::size_t hop = 0; hop < hops; ++hop) {
    const NodeSets before = sets;
    for (const SampledRelation& relation : resolve_relations(graph.open(Held::k32))) {
      for (const std::uint64_t target : before[relation.target_type]) {
        for (const auto& [source, id] : graph.edges[relation.index][target])
          sets[relation.source_type].insert(source);
      }
    }
  }
  return sets;
}

TEST_CASE("a subgraph has all edges of the graph among its nodes, at every layer") {
  for (std::uint64_t seed = 0; seed < test::sanitized(60u, 15u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const SubgraphSamplerOptions options{.fanout = {3, 2}, .layers = 1 + std::int64_t(seed % 3)};
    SubgraphSampler sampler(graph.open(Held::k32), options, kAllParts, RandomKey(seed));
    const std::size_t type = seed % graph.schema.nodes.size();
    const auto seeds = test::random_seeds(graph, type, 10, RandomKey(seed));
    const Batch batch = sampler.sample({.round = seed, .seeds = {seeds, type}}, nullptr).or_throw();
    const NodeSets sets = nodes_of(batch);
    for (std::size_t layer = 0; layer < batch.layers.size(); ++layer) {
      for (const Block& block : batch.layers[layer]) {
        const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
        const auto expected_targets = layer + 1 < batch.layers.size() ? targets.size()
                                      : block.target_type == type     ? seeds.size()
                                                                      : 0;
        REQUIRE(block.num_targets == static_cast<std::int64_t>(expected_targets));
        std::vector<std::uint64_t> expected;
        for (const std::uint64_t target : targets.first(expected_targets)) {
          for (const auto& [source, id] : graph.edges[block.relation][target]) {
            if (sets[block.source_type].contains(source)) expected.push_back(id);
          }
        }
        const auto found = block.edge_ids.as<std::uint64_t>();
        REQUIRE(std::vector(found.begin(), found.end()) == expected);
      }
    }
  }
}

TEST_CASE("with all edges a hop the nodes are those within k hops") {
  for (std::uint64_t seed = 0; seed < test::sanitized(60u, 15u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const std::size_t type = seed % graph.schema.nodes.size();
    const auto seeds = test::random_seeds(graph, type, 2, RandomKey(seed));
    const SampleRequest request{.seeds = {seeds, type}};
    for (std::size_t hops = 0; hops < 4; ++hops) {
      SubgraphSampler sampler(graph.open(Held::k32),
                              {.fanout = std::vector<std::int64_t>(hops, -1), .layers = 2},
                              kAllParts,
                              RandomKey(seed));
      CHECK(nodes_of(sampler.sample(request, nullptr).or_throw()) ==
            brute_force_hops(graph, request, hops));
    }
  }
}

TEST_CASE("the nodes of a batch are those of its seeds' own subgraphs, under the cap") {
  for (std::uint64_t seed = 0; seed < test::sanitized(30u, 10u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    SubgraphSampler sampler(
        graph.open(Held::k32), {.fanout = {2, -1, 3}}, kAllParts, RandomKey(seed));
    const auto seeds = test::random_seeds(graph, 0, 8, RandomKey(seed));
    NodeSets together(graph.schema.nodes.size());
    for (const std::uint64_t one : seeds) {
      const auto alone =
          nodes_of(sampler.sample({.seeds = std::span(&one, 1)}, nullptr).or_throw());
      for (std::size_t type = 0; type < alone.size(); ++type)
        together[type].insert(alone[type].begin(), alone[type].end());
    }
    CHECK(nodes_of(sampler.sample({.seeds = seeds}, nullptr).or_throw()) == together);
    SubgraphSampler one_hop(graph.open(Held::k32), {.fanout = {2}}, kAllParts, RandomKey(seed));
    const Batch capped = one_hop.sample({.seeds = std::span(seeds.data(), 1)}, nullptr).or_throw();
    std::int64_t nodes = 0;
    for (const BatchNodes& of_type : capped.nodes) nodes += of_type.ids.numel();
    CHECK(nodes <= 1 + 2 * static_cast<std::int64_t>(graph.edges.size()));
  }
}

TEST_CASE("layers that write all rows share their arrays") {
  const TestGraph graph = test::random_graph(4);
  SubgraphSampler sampler(graph.open(Held::k32), {{3}, 3}, kAllParts, RandomKey(1));
  const auto seeds = test::random_seeds(graph, 0, 10, RandomKey(1));
  const Batch batch = sampler.sample({.seeds = seeds}, nullptr).or_throw();
  CHECK(batch.layers[0][0].neighbours.data() == batch.layers[1][0].neighbours.data());
  CHECK(batch.layers[0][0].neighbours.data() == batch.layers[2][0].neighbours.data());
}

TEST_CASE("a hub of more edges than a piece is cut, and its edges all come, on disk and in RAM") {
  constexpr std::uint64_t kDegree = EdgeScan::kPagedPiece + 1000;
  TestGraph graph = test::make_graph({50});
  test::EdgeLists lists(50);
  for (std::uint64_t e = 0; e < kDegree; ++e) lists[7].push_back({e % 50, e});
  for (std::uint64_t n = 0; n < 50; ++n) lists[n].push_back({49, kDegree + n});
  test::add_relation(graph, 0, 0, std::move(lists));
  const std::vector<std::uint64_t> seeds = {7, 3};
  std::vector<std::uint64_t> hashes;
  for (const Held held : {Held::k32, Held::kHidden}) {
    const SamplerGraph opened = graph.open(held);
    SubgraphSampler sampler(opened, {{}, 1}, kAllParts, RandomKey(1));
    const Batch batch = sampler.sample({.seeds = seeds}, nullptr).or_throw();
    // Of the hub's edges each 50th comes from 7, each 50th from 3.
    CHECK(batch.layers[0][0].num_edges() == 2 * ((kDegree + 49) / 50));
    hashes.push_back(hash_batch(batch));
    if (held == Held::kHidden)
      CHECK(dynamic_cast<test::ListTopology&>(*opened.relations[0]).neighbour_calls == 2);
  }
  CHECK(hashes[0] == hashes[1]);
}

TEST_CASE("options without layers or with a wrong fanout are errors") {
  const TestGraph graph = test::random_graph(4);
  const auto make = [&](SubgraphSamplerOptions options) {
    return test::expect_error(
        [&] { SubgraphSampler(graph.open(Held::k32), options, {}, RandomKey(1)); });
  };
  CHECK(make({.fanout = {4, -2}}).code() == ErrorCode::kUsage);
  CHECK(make({.fanout = {4, -2}}).message().find("-2") != std::string::npos);
  CHECK(make({.fanout = {}}).code() == ErrorCode::kUsage);
  CHECK(make({.fanout = {3}, .layers = -1}).code() == ErrorCode::kUsage);
}

}  // namespace
}  // namespace sluice
