// Nodes that draw once: the layers of a mini-batch are parts of one subgraph.
#include "sampler_support.h"

#include "samplers/labor_sampler.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

template <class T>
bool begins_with(const Array& all, const Array& first) {
  const auto a = all.as<T>();
  const auto b = first.as<T>();
  return b.size() <= a.size() && std::equal(b.begin(), b.end(), a.begin());
}

// The targets that are new in the block have their own edges, so many of them.
void check_new_targets(const TestGraph& graph,
                       const Batch& batch,
                       const Block& block,
                       std::size_t first,
                       std::int64_t fanout) {
  const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
  const auto sources = batch.nodes[block.source_type].ids.as<std::uint64_t>();
  const auto offsets = block.offsets.as<std::int64_t>();
  for (std::size_t t = first; t < static_cast<std::size_t>(block.num_targets); ++t) {
    const auto& there = graph.edges[block.relation][targets[t]];
    const auto begin = static_cast<std::size_t>(offsets[t]);
    const auto end = static_cast<std::size_t>(offsets[t + 1]);
    const std::size_t most = fanout < 0 ? there.size() : static_cast<std::size_t>(fanout);
    REQUIRE(end - begin == std::min(there.size(), most));
    std::set<std::uint64_t> ids;
    for (std::size_t e = begin; e < end; ++e) {
      const auto source = static_cast<std::size_t>(block.neighbours.as<std::int32_t>()[e]);
      const std::pair edge(sources[source], block.edge_ids.as<std::uint64_t>()[e]);
      REQUIRE(std::ranges::count(there, edge) == 1);
      REQUIRE(ids.insert(edge.second).second);
    }
  }
}

void check_drawn_once(const TestGraph& graph,
                      const Batch& batch,
                      const std::vector<std::int64_t>& fanout) {
  const std::size_t layers = fanout.size();
  std::vector<std::set<std::int32_t>> met(batch.nodes.size());
  for (std::size_t layer = layers; layer-- > 0;) {
    for (std::size_t r = 0; r < graph.edges.size(); ++r) {
      const Block& block = batch.layers[layer][r];
      std::size_t before = 0;
      if (layer + 1 < layers) {
        const Block& above = batch.layers[layer + 1][r];
        before = static_cast<std::size_t>(above.num_targets);
        REQUIRE(begins_with<std::int64_t>(block.offsets, above.offsets));
        REQUIRE(begins_with<std::int32_t>(block.neighbours, above.neighbours));
        REQUIRE(begins_with<std::uint64_t>(block.edge_ids, above.edge_ids));
      }
      check_new_targets(graph, batch, block, before, fanout[layers - 1 - layer]);
      const auto rows = block.neighbours.as<std::int32_t>();
      met[block.source_type].insert(rows.begin(), rows.end());
    }
  }
  // No row but those of seeds and of edges that are there.
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    for (std::int64_t row = batch.num_seeds(type); row < batch.nodes[type].ids.numel(); ++row)
      REQUIRE(met[type].contains(static_cast<std::int32_t>(row)));
  }
}

TEST_CASE("nodes that draw once keep their edges in the layers below") {
  const std::vector<std::vector<std::int64_t>> fanouts = {
      {5}, {3, 2}, {-1, 3}, {2, 0, 4}, {2, 3, 2, 3}, {0, 2}, {-1, -1, -1}};
  for (std::uint64_t seed = 0; seed < test::sanitized(70u, 20u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const auto& fanout = fanouts[seed % fanouts.size()];
    const auto seeds = test::random_seeds(graph, 0, 20, RandomKey(seed));
    const SampleRequest request{.epoch = 1, .round = seed, .index = seed, .seeds = {seeds, 0}};
    const NeighborSamplerOptions options{.fanout = fanout, .draw_once = true};
    NeighborSampler sampler(graph.open(Held::k32), options, test::kAllParts, RandomKey(seed));
    NeighborSampler hidden(graph.open(Held::kHidden), options, test::kAllParts, RandomKey(seed));
    const Batch batch = sampler.sample(request, nullptr).or_throw();
    check_drawn_once(graph, batch, fanout);
    CHECK(hash_batch(hidden.sample(request, nullptr).or_throw()) == hash_batch(batch));
    const LaborSamplerOptions shared{.fanout = fanout, .draw_once = true};
    LaborSampler labor(graph.open(Held::k32), shared, test::kAllParts, RandomKey(seed));
    check_drawn_once(graph, labor.sample(request, nullptr).or_throw(), fanout);
  }
}

TEST_CASE("a first hop is drawn the same, once or not") {
  const TestGraph graph = test::random_graph(3);
  const auto seeds = test::random_seeds(graph, 0, 20, RandomKey(3));
  const auto last_layer = [&](bool once) {
    NeighborSampler sampler(graph.open(Held::k32),
                            {.fanout = {3, 3}, .draw_once = once},
                            test::kAllParts,
                            RandomKey(3));
    return sampler.sample({.seeds = seeds}, nullptr).or_throw().layers.at(1);
  };
  const auto once = last_layer(true);
  const auto anew = last_layer(false);
  for (std::size_t r = 0; r < once.size(); ++r) {
    CHECK(std::ranges::equal(once[r].edge_ids.as<std::uint64_t>(),
                             anew[r].edge_ids.as<std::uint64_t>()));
  }
}

}  // namespace
}  // namespace sluice
