#include "sampler_support.h"

#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>

namespace sluice {
namespace {

// A batch with every part filled.
Batch full_batch() {
  const test::TestGraph graph = test::random_graph(4);
  NeighborSampler sampler(graph.open(test::Held::k32),
                          {.fanout = {3, 2}},
                          {.transpose = true, .edge_ids = true, .degrees = true},
                          RandomKey(1));
  const auto seeds = test::random_seeds(graph, 0, 20, RandomKey(2));
  Batch batch =
      sampler.sample({.epoch = 1, .round = 2, .index = 2, .seeds = seeds}, nullptr).or_throw();
  batch.labels = Array::make(DType::kI32, {batch.num_seeds(0)}).or_throw();
  std::fill(batch.labels.as<std::int32_t>().begin(), batch.labels.as<std::int32_t>().end(), 3);
  for (BatchNodes& nodes : batch.nodes) {
    nodes.features = {Array::make(DType::kF32, {nodes.ids.numel(), 2}).or_throw()};
    std::ranges::fill(nodes.features[0].as<float>(), 0.5f);
  }
  return batch;
}

Block& block_with_edges(Batch& batch) {
  for (auto& relations : batch.layers) {
    for (Block& block : relations) {
      if (block.num_edges() != 0) return block;
    }
  }
  throw std::logic_error("the test's batch has no edges");
}

TEST_CASE("equal batches have equal hashes") {
  CHECK(hash_batch(full_batch()) == hash_batch(full_batch()));
}

TEST_CASE("any change of what a model sees changes the hash") {
  const std::vector<std::function<void(Batch&)>> changes = {
      [](Batch& b) { ++b.epoch; },
      [](Batch& b) { ++b.index; },
      [](Batch& b) { ++b.queries.relation; },
      [](Batch& b) { b.queries.kind = QueryKind::kLinks; },
      [](Batch& b) { ++b.seeds[0].as<std::uint64_t>()[1]; },
      [](Batch& b) { ++b.labels.as<std::int32_t>()[0]; },
      [](Batch& b) { b.labels = Array(); },
      [](Batch& b) { ++b.nodes[0].ids.as<std::uint64_t>()[0]; },
      [](Batch& b) { b.nodes[0].features[0].as<float>()[3] = 0.25f; },
      [](Batch& b) { ++b.nodes[0].degrees.as<std::int64_t>()[0]; },
      [](Batch& b) { ++b.nodes[0].size_at[1]; },
      [](Batch& b) { b.nodes[0].size_at.push_back(0); },
      [](Batch& b) { std::swap(b.layers[0], b.layers[1]); },
      [](Batch& b) { ++block_with_edges(b).offsets.as<std::int64_t>()[1]; },
      [](Batch& b) { ++block_with_edges(b).neighbours.as<std::int32_t>()[0]; },
      [](Batch& b) { ++block_with_edges(b).edge_ids.as<std::uint64_t>()[0]; },
      [](Batch& b) { ++block_with_edges(b).relation; },
      [](Batch& b) { ++block_with_edges(b).num_sources; },
  };
  const std::uint64_t before = hash_batch(full_batch());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    Batch batch = full_batch();
    changes[i](batch);
    CHECK(hash_batch(batch) != before);
  }
}

TEST_CASE("the transpose follows from the rest and does not count") {
  Batch batch = full_batch();
  const std::uint64_t before = hash_batch(batch);
  block_with_edges(batch).transposed_edges = Array();
  CHECK(hash_batch(batch) == before);
}

}  // namespace
}  // namespace sluice
