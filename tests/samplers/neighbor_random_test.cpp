// What a sample depends on, and how its neighbours are distributed.
#include "sampler_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <map>
#include <thread>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

// One node type and relation; each node has in-edges from many others.
TestGraph dense_graph(std::uint64_t nodes, std::uint64_t degree) {
  TestGraph graph = test::make_graph({nodes});
  test::EdgeLists lists(nodes);
  for (std::uint64_t target = 0; target < nodes; ++target) {
    for (std::uint64_t i = 0; i < degree; ++i)
      lists[target].push_back({(target + i) % nodes, target * degree + i});
  }
  test::add_relation(graph, 0, 0, lists);
  return graph;
}

// The sampled sources of each target of a layer, by dense ids.
using Drawn = std::map<std::uint64_t, std::vector<std::uint64_t>>;

Drawn drawn(const Batch& batch, std::size_t layer, std::size_t relation = 0) {
  const Block& block = batch.layers.at(layer).at(relation);
  const auto offsets = block.offsets.as<std::int64_t>();
  const auto rows = block.neighbours.as<std::int32_t>();
  const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
  const auto sources = batch.nodes[block.source_type].ids.as<std::uint64_t>();
  Drawn result;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    auto& list = result[targets[t]];
    for (auto e = static_cast<std::size_t>(offsets[t]);
         e < static_cast<std::size_t>(offsets[t + 1]);
         ++e) {
      list.push_back(sources[static_cast<std::size_t>(rows[e])]);
    }
  }
  return result;
}

Batch sample(Sampler& sampler,
             std::vector<std::uint64_t> seeds,
             std::uint64_t epoch = 0,
             std::uint64_t round = 0) {
  return sampler.sample({.epoch = epoch, .round = round, .seeds = seeds}, nullptr).or_throw();
}

TEST_CASE("a node's sample does not depend on its batch mates, nor on the batches before") {
  const TestGraph graph = dense_graph(500, 60);
  NeighborSampler one(graph.open(Held::k32), {{5, 5}}, {}, RandomKey(1));
  NeighborSampler other(graph.open(Held::kHidden), {{5, 5}}, {}, RandomKey(1));
  const Batch alone = sample(one, {42});
  sample(other, {1, 2, 3}, 5, 9);
  const Batch together = sample(other, {7, 300, 42, 11});
  CHECK(drawn(alone, 1).at(42) == drawn(together, 1).at(42));
  const Drawn all = drawn(together, 0);
  for (const auto& [node, sources] : drawn(alone, 0)) CHECK(sources == all.at(node));
}

TEST_CASE("rounds, epochs, hops, relations and seeds draw on their own") {
  TestGraph graph = dense_graph(500, 60);
  test::add_relation(graph, 0, 0, graph.edges[0]);
  NeighborSampler sampler(graph.open(Held::k32), {{5, 5}}, {}, RandomKey(1));
  NeighborSampler reseeded(graph.open(Held::k32), {{5, 5}}, {}, RandomKey(2));
  const Batch base = sample(sampler, {42, 43});
  CHECK(drawn(base, 1) == drawn(sample(sampler, {42, 43}), 1));
  CHECK(drawn(base, 1) != drawn(sample(sampler, {42, 43}, 0, 1), 1));
  CHECK(drawn(base, 1) != drawn(sample(sampler, {42, 43}, 1, 0), 1));
  CHECK(drawn(base, 1) != drawn(sample(reseeded, {42, 43}), 1));
  CHECK(drawn(base, 1) != drawn(base, 1, 1));
  CHECK(drawn(base, 1).at(42) != drawn(base, 0).at(42));
}

TEST_CASE("the round keys the draws, not the batch's number") {
  const TestGraph graph = dense_graph(500, 60);
  NeighborSampler sampler(graph.open(Held::k32), {{5}}, {}, RandomKey(1));
  const std::vector<std::uint64_t> seeds = {9};
  const Batch first = sampler.sample({.round = 4, .index = 8, .seeds = seeds}, nullptr).or_throw();
  const Batch second = sampler.sample({.round = 4, .index = 9, .seeds = seeds}, nullptr).or_throw();
  CHECK(drawn(first, 0) == drawn(second, 0));
}

TEST_CASE("each neighbour is included equally often, over nodes and over rounds") {
  // 15 of 60 edges: inclusions of an edge over n trials have mean n/4; their scaled chi-square has
  // 59 degrees of freedom and exceeds 98.3 once in 1,000 runs.
  constexpr std::uint64_t kSeed = 314;
  constexpr std::uint64_t kDegree = 60;
  constexpr double kChance = 15.0 / 60.0;
  const TestGraph graph = dense_graph(200, kDegree);
  NeighborSampler sampler(graph.open(Held::k32), {{15}}, {}, RandomKey(kSeed));
  std::vector<std::uint64_t> seeds(200);
  for (std::uint64_t i = 0; i < 200; ++i) seeds[i] = i;
  std::vector<double> by_place(kDegree), of_one_node(kDegree);
  constexpr std::uint64_t kRounds = test::sanitized(2000, 200);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (const auto& [node, sources] : drawn(sample(sampler, seeds, 0, round), 0)) {
      for (const std::uint64_t source : sources) {
        const std::uint64_t place = (source + 200 - node) % 200;
        by_place[place] += 1;
        if (node == 17) of_one_node[place] += 1;
      }
    }
  }
  const auto chi_square = [](const std::vector<double>& counts, double trials) {
    double sum = 0;
    for (const double count : counts)
      sum += (count - trials * kChance) * (count - trials * kChance);
    // Inclusions are negatively correlated: (d - 1) / (d (1 - p) p) makes the sum chi-square with d
    // - 1 degrees.
    return sum * (kDegree - 1) / (kDegree * trials * kChance * (1 - kChance));
  };
  INFO("seed ", kSeed);
  CHECK(chi_square(by_place, 200.0 * kRounds) < 98.3);
  CHECK(chi_square(of_one_node, kRounds) < 98.3);
}

TEST_CASE("samplers in parallel give the batches of one alone") {
  const TestGraph graph = test::random_graph(11);
  const SamplerGraph opened = graph.open(Held::k32);
  const auto hashes =
      [&](std::uint64_t first, std::uint64_t step, std::vector<std::uint64_t>& out) {
        NeighborSampler sampler(opened, {{5, 5}}, {.edge_ids = true}, RandomKey(1));
        for (std::uint64_t b = first; b < out.size(); b += step) {
          const auto seeds = test::random_seeds(graph, 0, 40, RandomKey(b));
          const SampleRequest request{.round = b, .index = b, .seeds = seeds};
          out[b] = hash_batch(sampler.sample(request, nullptr).or_throw());
        }
      };
  std::vector<std::uint64_t> alone(64), together(64);
  hashes(0, 1, alone);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) threads.emplace_back(hashes, t, 4, std::ref(together));
  for (std::thread& thread : threads) thread.join();
  CHECK(alone == together);
}

}  // namespace
}  // namespace sluice
