// What the tests of LaborSampler share.
#pragma once

#include "sampler_support.h"
#include "samplers/labor_sampler.h"  // IWYU pragma: export

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace sluice::test {

/// Of a block: the edge ids that each target drew.
using DrawnIds = std::map<std::uint64_t, std::set<std::uint64_t>>;

inline DrawnIds drawn_ids(const Batch& batch, std::size_t layer, std::size_t relation = 0) {
  const Block& block = batch.layers.at(layer).at(relation);
  const auto offsets = block.offsets.as<std::int64_t>();
  const auto ids = block.edge_ids.as<std::uint64_t>();
  const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
  DrawnIds result;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    auto& of_target = result[targets[t]];
    for (std::int64_t e = offsets[t]; e < offsets[t + 1]; ++e)
      of_target.insert(ids[static_cast<std::size_t>(e)]);
  }
  return result;
}

/// One node type and relation; node i < lists.size() has in-edges from lists[i], and an edge's id
/// is its source's.
inline TestGraph graph_of_lists(std::uint64_t nodes,
                                const std::vector<std::vector<std::uint64_t>>& lists) {
  TestGraph graph = make_graph({nodes});
  EdgeLists edges(nodes);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (const std::uint64_t source : lists[i]) edges[i].push_back({source, source});
  }
  add_relation(graph, 0, 0, std::move(edges));
  return graph;
}

inline std::vector<std::uint64_t> numbers_from(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = first + i;
  return numbers;
}

/// Weights of a graph's one relation, by position.
inline Array weights_of_edges(const std::vector<float>& weights) {
  Array array = Array::make(DType::kF32, {static_cast<std::int64_t>(weights.size())}).or_throw();
  std::copy(weights.begin(), weights.end(), array.as<float>().begin());
  return array;
}

}  // namespace sluice::test
