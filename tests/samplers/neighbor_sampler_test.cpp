// The neighbour sampler against the plain edge lists of random multigraphs.
#include "sampler_support.h"

#include "support/expect_error.h"
#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

using test::kAllParts;

std::span<const std::int64_t> offsets_of(const Block& block) {
  return block.offsets.as<std::int64_t>();
}

// Lists nodes as batch.h says: seeds first, then by first appearance, hop by hop and relation by
// relation.
class ReferenceList {
 public:
  ReferenceList(const TestGraph& graph, const Batch& batch) : rows_(graph.schema.nodes.size()) {
    for (std::size_t type = 0; type < batch.seeds.size(); ++type) {
      if (batch.seeds[type].empty()) continue;
      for (const std::uint64_t seed : batch.seeds[type].as<std::uint64_t>()) row(type, seed);
    }
  }
  std::int64_t row(std::size_t type, std::uint64_t node) {
    return rows_[type].emplace(node, static_cast<std::int64_t>(rows_[type].size())).first->second;
  }
  std::int64_t size(std::size_t type) const {
    return static_cast<std::int64_t>(rows_[type].size());
  }

 private:
  std::vector<std::map<std::uint64_t, std::int64_t>> rows_;
};

void check_targets(const TestGraph& graph,
                   const Batch& batch,
                   const Block& block,
                   std::int64_t fanout,
                   ReferenceList& list) {
  const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
  const auto sources = batch.nodes[block.source_type].ids.as<std::uint64_t>();
  const auto rows = block.neighbours.as<std::int32_t>();
  const auto edge_ids = block.edge_ids.as<std::uint64_t>();
  for (std::size_t t = 0; t < static_cast<std::size_t>(block.num_targets); ++t) {
    const auto& in_edges = graph.edges[block.relation][targets[t]];
    const auto begin = static_cast<std::size_t>(offsets_of(block)[t]);
    const auto count = static_cast<std::size_t>(offsets_of(block)[t + 1]) - begin;
    const std::size_t most = fanout < 0 ? in_edges.size() : static_cast<std::size_t>(fanout);
    REQUIRE(count == std::min(in_edges.size(), most));
    // Edge ids are distinct in the graph: each sampled edge is there, and none twice.
    std::set<std::uint64_t> seen;
    for (std::size_t e = begin; e < begin + count; ++e) {
      const std::pair edge(sources[static_cast<std::size_t>(rows[e])], edge_ids[e]);
      REQUIRE(std::find(in_edges.begin(), in_edges.end(), edge) != in_edges.end());
      REQUIRE(seen.insert(edge.second).second);
      REQUIRE(list.row(block.source_type, edge.first) == rows[e]);
    }
  }
}

void check_transpose(const Block& block) {
  const auto ends = block.transposed_offsets.as<std::int64_t>();
  const auto targets = block.transposed_targets.as<std::int32_t>();
  const auto edges = block.transposed_edges.as<std::int32_t>();
  REQUIRE(static_cast<std::int64_t>(ends.size()) == block.num_sources + 1);
  REQUIRE(ends.front() == 0);
  REQUIRE(ends.back() == block.num_edges());
  for (std::size_t source = 0; source + 1 < ends.size(); ++source) {
    for (auto i = static_cast<std::size_t>(ends[source]);
         i < static_cast<std::size_t>(ends[source + 1]);
         ++i) {
      const auto edge = static_cast<std::size_t>(edges[i]);
      const auto target = static_cast<std::size_t>(targets[i]);
      REQUIRE(block.neighbours.as<std::int32_t>()[edge] == static_cast<std::int32_t>(source));
      REQUIRE(offsets_of(block)[target] <= edges[i]);
      REQUIRE(edges[i] < offsets_of(block)[target + 1]);
      if (i > static_cast<std::size_t>(ends[source])) REQUIRE(edges[i - 1] < edges[i]);
    }
  }
}

void check_degrees(const TestGraph& graph, const Batch& batch) {
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    const auto ids = batch.nodes[type].ids.as<std::uint64_t>();
    const auto degrees = batch.nodes[type].degrees.as<std::int64_t>();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::size_t expected = 0;
      for (std::size_t r = 0; r < graph.edges.size(); ++r) {
        if (graph.schema.relations[r].target == graph.schema.nodes[type].name)
          expected += graph.edges[r][ids[i]].size();
      }
      REQUIRE(degrees[i] == static_cast<std::int64_t>(expected));
    }
  }
}

void check_batch(const TestGraph& graph,
                 const Batch& batch,
                 const std::vector<std::int64_t>& fanout) {
  ReferenceList list(graph, batch);
  const std::size_t layers = fanout.size();
  REQUIRE(batch.layers.size() == layers);
  for (std::size_t layer = layers; layer-- > 0;) {
    for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
      REQUIRE(batch.nodes[type].size_at[layer + 1] == list.size(type));
    }
    REQUIRE(batch.layers[layer].size() == graph.edges.size());
    for (const Block& block : batch.layers[layer]) {
      REQUIRE(block.num_targets == batch.nodes[block.target_type].size_at[layer + 1]);
      REQUIRE(block.num_sources == batch.nodes[block.source_type].size_at[layer]);
      check_targets(graph, batch, block, fanout[layers - 1 - layer], list);
      check_transpose(block);
    }
  }
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    REQUIRE(batch.nodes[type].size_at.size() == layers + 1);
    REQUIRE(batch.nodes[type].size_at[0] == batch.nodes[type].ids.numel());
    REQUIRE(batch.nodes[type].ids.numel() == list.size(type));
  }
  check_degrees(graph, batch);
}

TEST_CASE(
    "batches of random multigraphs match the edge lists, from RAM and from behind the virtual "
    "calls") {
  const std::vector<std::vector<std::int64_t>> fanouts = {
      {}, {-1}, {0}, {5}, {15, 10}, {-1, 3}, {2, 0, 4}, {100, 100}, {-1, -1, -1}, {3, 3, 3, 3}};
  for (std::uint64_t seed = 0; seed < test::sanitized(120u, 30u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const auto& fanout = fanouts[seed % fanouts.size()];
    NeighborSampler resident(graph.open(Held::k32), {fanout}, kAllParts, RandomKey(seed));
    NeighborSampler wide(graph.open(Held::k64), {fanout}, kAllParts, RandomKey(seed));
    NeighborSampler hidden(graph.open(Held::kHidden), {fanout}, kAllParts, RandomKey(seed));
    for (std::uint64_t index = 0; index < 3; ++index) {
      const std::size_t type = (seed + index) % graph.schema.nodes.size();
      const auto seeds = test::random_seeds(graph, type, 30, RandomKey(seed).with(index));
      const SampleRequest request{
          .epoch = 2, .round = index, .index = index, .seeds = {seeds, type}};
      const Batch batch = resident.sample(request, nullptr).or_throw();
      CHECK(batch.index == index);
      CHECK(batch.num_seeds(type) == static_cast<std::int64_t>(seeds.size()));
      check_batch(graph, batch, fanout);
      CHECK(hash_batch(wide.sample(request, nullptr).or_throw()) == hash_batch(batch));
      CHECK(hash_batch(hidden.sample(request, nullptr).or_throw()) == hash_batch(batch));
    }
  }
}

TEST_CASE("parts that nobody asked for are left empty") {
  const TestGraph graph = test::random_graph(4);
  const BlockParts none{.transpose = false, .edge_ids = false, .degrees = false};
  NeighborSampler sampler(graph.open(Held::k32), {{4}}, none, RandomKey(1));
  const auto seeds = test::random_seeds(graph, 0, 10, RandomKey(1));
  const Batch batch = sampler.sample({.seeds = seeds}, nullptr).or_throw();
  for (const Block& block : batch.layers.at(0)) {
    CHECK(block.edge_ids.data() == nullptr);
    CHECK(block.transposed_offsets.data() == nullptr);
  }
  CHECK(batch.nodes[0].degrees.data() == nullptr);
  CHECK(batch.labels.empty());
  CHECK(batch.nodes[0].features.empty());
}

TEST_CASE("a topology on disk is asked once a hop and relation") {
  TestGraph graph = test::make_graph({100, 80});
  test::add_relation(graph, 0, 1, test::random_lists(100, 80, RandomKey(1)));
  test::add_relation(graph, 1, 0, test::random_lists(80, 100, RandomKey(2)));
  const SamplerGraph opened = graph.open(Held::kHidden);
  NeighborSampler sampler(opened, {{-1, -1, -1}}, {}, RandomKey(1));
  const auto seeds = test::random_seeds(graph, 0, 10, RandomKey(1));
  CHECK(sampler.sample({.seeds = seeds}, nullptr));
  for (const auto& relation : opened.relations) {
    const auto& topology = dynamic_cast<test::ListTopology&>(*relation);
    CHECK(topology.range_calls <= 3);
    CHECK(topology.neighbour_calls <= 3);
  }
}

TEST_CASE("bad requests and options are errors that say what is wrong") {
  const TestGraph graph = test::random_graph(4);
  NeighborSampler sampler(graph.open(Held::k32), {{4}}, {}, RandomKey(1));
  const std::vector<std::uint64_t> twice = {0, 0};
  const auto repeated = sampler.sample({.index = 6, .seeds = twice}, nullptr);
  REQUIRE(!repeated);
  CHECK(repeated.error().code() == ErrorCode::kData);
  CHECK(repeated.error().message() == "seed 0 appears twice in mini-batch 6");
  const std::vector<std::uint64_t> beyond = {100000};
  const auto outside = sampler.sample({.seeds = beyond}, nullptr);
  REQUIRE(!outside);
  CHECK(outside.error().message().find("seed 100000 is no node: type 't0' has") == 0);

  const auto no_type = sampler.sample({.seeds = {twice, 9}}, nullptr);
  REQUIRE(!no_type);
  CHECK(no_type.error().code() == ErrorCode::kInternal);

  const auto bad = test::expect_error([&] {
    NeighborSampler(graph.open(Held::k32), {{4, -2}}, {}, RandomKey(1));
  });
  CHECK(bad.code() == ErrorCode::kUsage);
  CHECK(bad.message().find("-2") != std::string::npos);
}

}  // namespace
}  // namespace sluice
