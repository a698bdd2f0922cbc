// The neighbour sampler's other ways of drawing: with replacement, by weight, a fanout a relation.
#include "sampler_support.h"

#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

// Two types, two relations into the first; the first has weights: an edge's id modulo 4.
struct Weighted {
  TestGraph graph = test::make_graph({60, 90});
  std::vector<Array> weights;

  Weighted() {
    test::add_relation(graph, 1, 0, test::random_lists(90, 60, RandomKey(5)));
    test::add_relation(graph, 0, 0, test::random_lists(60, 60, RandomKey(6)));
    weights.push_back(
        Array::make(DType::kF32, {static_cast<std::int64_t>(graph.schema.relations[0].edges)})
            .or_throw());
    std::size_t at = 0;
    for (const auto& list : graph.edges[0]) {
      for (const auto& edge : list) weights[0].as<float>()[at++] = weight_of(edge.second);
    }
    weights.emplace_back();
  }
  static float weight_of(std::uint64_t edge_id) { return static_cast<float>(edge_id % 4); }
  SamplerGraph open(Held held) const {
    SamplerGraph opened = graph.open(held);
    opened.weights = weights;
    return opened;
  }
};

std::vector<std::uint64_t> all_of(std::uint64_t count) {
  std::vector<std::uint64_t> ids(count);
  for (std::uint64_t i = 0; i < count; ++i) ids[i] = i;
  return ids;
}

TEST_CASE("with replacement every node with edges has as many as the fanout says") {
  const TestGraph graph = test::random_graph(4);
  const auto seeds = test::random_seeds(graph, 0, 40, RandomKey(1));
  NeighborSampler sampler(
      graph.open(Held::k32), {.fanout = {6}, .replace = true}, {.edge_ids = true}, RandomKey(1));
  const Batch batch = sampler.sample({.seeds = seeds}, nullptr).or_throw();
  for (const Block& block : batch.layers[0]) {
    const auto offsets = block.offsets.as<std::int64_t>();
    const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
    for (std::size_t t = 0; t < static_cast<std::size_t>(block.num_targets); ++t) {
      const auto& in_edges = graph.edges[block.relation][targets[t]];
      CHECK(offsets[t + 1] - offsets[t] == (in_edges.empty() ? 0 : 6));
      for (auto e = static_cast<std::size_t>(offsets[t]);
           e < static_cast<std::size_t>(offsets[t + 1]);
           ++e) {
        const auto row = static_cast<std::size_t>(block.neighbours.as<std::int32_t>()[e]);
        const std::pair edge(batch.nodes[block.source_type].ids.as<std::uint64_t>()[row],
                             block.edge_ids.as<std::uint64_t>()[e]);
        CHECK(std::find(in_edges.begin(), in_edges.end(), edge) != in_edges.end());
      }
    }
  }
}

TEST_CASE("with replacement edges are equally likely") {
  TestGraph graph = test::make_graph({5});
  test::add_relation(graph, 0, 0, {{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}, {}, {}, {}, {}});
  NeighborSampler sampler(
      graph.open(Held::k32), {.fanout = {4}, .replace = true}, {.edge_ids = true}, RandomKey(3));
  std::map<std::uint64_t, double> seen;
  const std::vector<std::uint64_t> seeds = {0};
  constexpr std::uint64_t kRounds = 5000;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const Batch batch = sampler.sample({.round = round, .seeds = seeds}, nullptr).or_throw();
    for (const std::uint64_t id : batch.layers[0][0].edge_ids.as<std::uint64_t>()) ++seen[id];
  }
  double chi_square = 0;
  for (const auto& [id, count] : seen) chi_square += std::pow(count - 4000, 2) / 4000;
  INFO("seed 3, chi-square ", chi_square);
  CHECK(seen.size() == 5);
  CHECK(chi_square < 18.5);  // 4 degrees of freedom, once in 1,000
}

TEST_CASE("weighted draws leave out weight 0 and are the same from RAM and from disk's calls") {
  const Weighted given;
  const auto seeds = all_of(60);
  for (const bool replace : {false, true}) {
    const NeighborSamplerOptions options{.fanout = {3}, .replace = replace, .weighted = true};
    std::vector<std::uint64_t> hashes;
    for (const Held held : {Held::k32, Held::k64, Held::kHidden}) {
      NeighborSampler sampler(given.open(held), options, {.edge_ids = true}, RandomKey(1));
      const Batch batch = sampler.sample({.seeds = seeds}, nullptr).or_throw();
      hashes.push_back(hash_batch(batch));
      const Block& block = batch.layers[0][0];
      for (const std::uint64_t id : block.edge_ids.as<std::uint64_t>())
        CHECK(Weighted::weight_of(id) > 0);
      const auto offsets = block.offsets.as<std::int64_t>();
      for (std::size_t t = 0; t < 60; ++t) {
        const auto& list = given.graph.edges[0][t];
        const auto there = std::count_if(list.begin(), list.end(), [](const auto& edge) {
          return Weighted::weight_of(edge.second) > 0;
        });
        const std::int64_t expected =
            replace ? (there == 0 ? 0 : 3) : std::min<std::int64_t>(there, 3);
        CHECK(offsets[t + 1] - offsets[t] == expected);
      }
      // The relation without weights is drawn from uniformly.
      const auto plain = batch.layers[0][1].offsets.as<std::int64_t>();
      for (std::size_t t = 0; t < 60; ++t) {
        const auto degree = static_cast<std::int64_t>(given.graph.edges[1][t].size());
        CHECK(plain[t + 1] - plain[t] ==
              (replace ? (degree == 0 ? 0 : 3) : std::min<std::int64_t>(degree, 3)));
      }
    }
    CHECK(hashes[0] == hashes[1]);
    CHECK(hashes[0] == hashes[2]);
  }
}

TEST_CASE("a relation may have a fanout of its own, by name or by key") {
  const Weighted given;
  const auto seeds = all_of(60);
  const std::string key = given.graph.schema.relations[1].key();
  for (const std::string& name : {std::string("r1"), key}) {
    NeighborSampler sampler(
        given.open(Held::k32), {.fanout = {3}, .relations = {{name, {-1}}}}, {}, RandomKey(1));
    const Batch batch = sampler.sample({.seeds = seeds}, nullptr).or_throw();
    CHECK(batch.layers[0][1].num_edges() ==
          static_cast<std::int64_t>(given.graph.schema.relations[1].edges));
    CHECK(batch.layers[0][0].num_edges() <= 3 * 60);
  }
}

TEST_CASE("options that do not go with the graph are named") {
  const Weighted given;
  const auto error_of = [&](const NeighborSamplerOptions& options, const SamplerGraph& graph) {
    const Error error =
        test::expect_error([&] { NeighborSampler(graph, options, {}, RandomKey(1)); });
    CHECK(error.code() == ErrorCode::kUsage);
    return error.message();
  };
  const SamplerGraph graph = given.open(Held::k32);
  CHECK(error_of({.fanout = {3, -2}}, graph) ==
        "[sampler] fanout holds -2; -1 means all edges, 0 none");
  CHECK(error_of({.fanout = {3}, .relations = {{"r1", {-5}}}}, graph) ==
        "[sampler] fanout of 'r1' holds -5; -1 means all edges, 0 none");
  CHECK(error_of({.fanout = {3}, .relations = {{"r1", {1, 2}}}}, graph) ==
        "[sampler] fanout of 'r1' has 2 numbers, that of the others 1");
  CHECK(error_of({.fanout = {3}, .relations = {{"r7", {1}}}}, graph).find("'r7'") !=
        std::string::npos);
  CHECK(error_of({.fanout = {3}, .weighted = true}, given.graph.open(Held::k32)) ==
        "[sampler] weighted is set, but no relation of the dataset has weights");
}

}  // namespace
}  // namespace sluice
