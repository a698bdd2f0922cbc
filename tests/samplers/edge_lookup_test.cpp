// Which pairs are edges, against the edge lists.
#include "sampler_support.h"

#include "samplers/edge_lookup.h"

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

TEST_CASE("pairs are found where an edge leads from source to target, repeated ones too") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    TestGraph graph = test::make_graph({30, 20});
    test::add_relation(graph, 0, 1, test::random_lists(30, 20, RandomKey(seed)));
    const RandomKey key = RandomKey(seed).with("pairs");
    std::vector<std::uint64_t> sources(200), targets(200);
    std::vector<std::uint8_t> expected(200), found(200);
    for (std::size_t i = 0; i < 200; ++i) {
      sources[i] = key.below(30, 2 * i);
      targets[i] = key.below(20, 2 * i + 1);
      for (const auto& [source, id] : graph.edges[0][targets[i]])
        if (source == sources[i]) expected[i] = 1;
    }
    for (const Held held : {Held::k32, Held::kHidden}) {
      const SamplerGraph opened = graph.open(held);
      EdgeLookup lookup;
      std::fill(found.begin(), found.end(), std::uint8_t{0});
      REQUIRE(lookup.find(*opened.relations[0], sources, targets, found, nullptr));
      CHECK(found == expected);
      const auto& topology = dynamic_cast<test::ListTopology&>(*opened.relations[0]);
      if (held == Held::kHidden) CHECK(topology.neighbour_calls <= 1);
      REQUIRE(lookup.find(*opened.relations[0], {}, {}, {}, nullptr));
    }
  }
}

}  // namespace
}  // namespace sluice
