// What every batch of every sampler must be, checked against the plain edge lists of its graph.
#pragma once

#include "sampler_support.h"

#include "support/blocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace sluice::test {

template <class T>
bool same_elements(const Array& left, const Array& right) {
  const auto a = left.as<T>();
  const auto b = right.as<T>();
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// The source rows of each target of a block.
inline std::vector<std::vector<std::int32_t>> lists_of(const Block& block) {
  const auto offsets = block.offsets.as<std::int64_t>();
  const auto rows = block.neighbours.as<std::int32_t>();
  std::vector<std::vector<std::int32_t>> lists;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t)
    lists.emplace_back(rows.begin() + offsets[t], rows.begin() + offsets[t + 1]);
  return lists;
}

/// Offsets ascend, rows are in range, and the transposed arrays are those of test/blocks.h.
inline void check_block_form(const Block& block) {
  const auto offsets = block.offsets.as<std::int64_t>();
  REQUIRE(static_cast<std::int64_t>(offsets.size()) == block.num_targets + 1);
  REQUIRE(offsets.front() == 0);
  REQUIRE(offsets.back() == block.num_edges());
  REQUIRE(std::is_sorted(offsets.begin(), offsets.end()));
  for (const std::int32_t row : block.neighbours.as<std::int32_t>()) {
    REQUIRE(row >= 0);
    REQUIRE(row < block.num_sources);
  }
  const Block expected = testing::make_block(block.num_sources, lists_of(block));
  REQUIRE(same_elements<std::int64_t>(block.transposed_offsets, expected.transposed_offsets));
  REQUIRE(same_elements<std::int32_t>(block.transposed_targets, expected.transposed_targets));
  REQUIRE(same_elements<std::int32_t>(block.transposed_edges, expected.transposed_edges));
}

/// Each edge of the block is one of the graph's, by source, target and edge id, and comes once.
inline void check_edges_exist(const TestGraph& graph, const Batch& batch, const Block& block) {
  const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
  const auto sources = batch.nodes[block.source_type].ids.as<std::uint64_t>();
  const auto ids = block.edge_ids.as<std::uint64_t>();
  REQUIRE(ids.size() == static_cast<std::size_t>(block.num_edges()));
  const auto lists = lists_of(block);
  std::size_t edge = 0;
  for (std::size_t t = 0; t < lists.size(); ++t) {
    const auto& in_edges = graph.edges[block.relation][targets[t]];
    std::set<std::uint64_t> seen;
    for (const std::int32_t row : lists[t]) {
      const std::pair found(sources[static_cast<std::size_t>(row)], ids[edge++]);
      REQUIRE(std::binary_search(in_edges.begin(), in_edges.end(), found));  // lists are sorted
      REQUIRE(seen.insert(found.second).second);
    }
  }
}

/// Seeds first, each node once and of its type, sizes that grow from the seeds to all.
inline void check_nodes(const TestGraph& graph, const Batch& batch, std::size_t layers) {
  const SeedLists all_seeds(batch.seeds);
  REQUIRE(batch.nodes.size() == graph.schema.nodes.size());
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    const auto ids = batch.nodes[type].ids.as<std::uint64_t>();
    const auto& sizes = batch.nodes[type].size_at;
    REQUIRE(std::set(ids.begin(), ids.end()).size() == ids.size());
    for (const std::uint64_t id : ids) REQUIRE(id < graph.schema.nodes[type].count);
    REQUIRE(sizes.size() == layers + 1);
    REQUIRE(std::is_sorted(sizes.rbegin(), sizes.rend()));
    REQUIRE(sizes.front() == static_cast<std::int64_t>(ids.size()));
    REQUIRE(sizes.back() == batch.num_seeds(type));
    const auto seeds = all_seeds.of(type);
    REQUIRE(std::equal(seeds.begin(), seeds.end(), ids.begin()));
  }
}

inline void check_degrees(const TestGraph& graph, const Batch& batch) {
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    const auto ids = batch.nodes[type].ids.as<std::uint64_t>();
    const auto degrees = batch.nodes[type].degrees.as<std::int64_t>();
    REQUIRE(degrees.size() == ids.size());
    std::vector<std::int64_t> apart;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::size_t expected = 0;
      for (std::size_t r = 0; r < graph.edges.size(); ++r) {
        if (graph.schema.relations[r].target != graph.schema.nodes[type].name) continue;
        expected += graph.edges[r][ids[i]].size();
        apart.push_back(static_cast<std::int64_t>(graph.edges[r][ids[i]].size()));
      }
      REQUIRE(degrees[i] == static_cast<std::int64_t>(expected));
    }
    const Array& by_relation = batch.nodes[type].relation_degrees;
    if (by_relation.shape().empty()) continue;  // not asked for
    REQUIRE(by_relation.size(0) == batch.nodes[type].ids.numel());
    REQUIRE(std::ranges::equal(by_relation.as<std::int64_t>(), apart));
  }
}

/// All of it, for a batch with every part.
inline void check_whole_batch(const TestGraph& graph, const Batch& batch, std::size_t layers) {
  check_nodes(graph, batch, layers);
  REQUIRE(batch.layers.size() == layers);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    REQUIRE(batch.layers[layer].size() == graph.edges.size());
    for (std::size_t r = 0; r < graph.edges.size(); ++r) {
      const Block& block = batch.layers[layer][r];
      REQUIRE(block.relation == r);
      const RelationSchema& relation = graph.schema.relations[r];
      REQUIRE(graph.schema.nodes.at(block.source_type).name == relation.source);
      REQUIRE(graph.schema.nodes.at(block.target_type).name == relation.target);
      REQUIRE(block.num_targets == batch.nodes[block.target_type].size_at[layer + 1]);
      REQUIRE(block.num_sources == batch.nodes[block.source_type].size_at[layer]);
      check_block_form(block);
      check_edges_exist(graph, batch, block);
    }
  }
  check_degrees(graph, batch);
}

}  // namespace sluice::test
