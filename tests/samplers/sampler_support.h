// Graphs for sampler tests: random multigraphs of several types and relations, in RAM or behind a
// topology that hides it, with the plain edge lists beside them for brute-force checks.
#pragma once

#include "samplers/neighbor_sampler.h"  // IWYU pragma: export

#include <sluice/graph_schema.h>
#include <sluice/memory.h>  // IWYU pragma: export
#include <sluice/random.h>
#include <sluice/sampler.h>
#include <sluice/topology.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

/// All that a block may have beside its edges.
inline constexpr BlockParts kAllParts{
    .transpose = true, .edge_ids = true, .degrees = true, .relation_degrees = true};

/// In-edges by target: (source, edge id), in the order a CSC keeps them.
using EdgeLists = std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>>;

/// How a test topology holds its neighbours.
enum class Held { k32, k64, kHidden };

/// A CSC in RAM; kHidden answers by the virtual calls alone, as one on disk does. Counts the calls.
class ListTopology final : public Topology {
 public:
  ListTopology(std::uint64_t num_sources, const EdgeLists& lists, Held held)
      : num_sources_(num_sources), held_(held) {
    offsets_.push_back(0);
    for (const auto& list : lists) {
      for (const auto& [source, id] : list) {
        wide_.push_back(source);
        narrow_.push_back(static_cast<std::uint32_t>(source));
        ids_.push_back(id);
      }
      offsets_.push_back(wide_.size());
    }
    view_.offsets = offsets_;
    if (held == Held::k64) view_.neighbours64 = wide_;
    if (held == Held::k32) view_.neighbours32 = narrow_;
  }

  std::uint64_t num_sources() const override { return num_sources_; }
  std::uint64_t num_targets() const override { return offsets_.size() - 1; }
  std::uint64_t num_edges() const override { return wide_.size(); }
  Result<void> ranges(std::span<const std::uint64_t> targets, std::span<EdgeRange> out) override {
    ++range_calls;
    for (std::size_t i = 0; i < targets.size(); ++i)
      out[i] = {offsets_.at(targets[i]), offsets_.at(targets[i] + 1)};
    return {};
  }
  Result<void> neighbours(std::span<const std::uint64_t> positions,
                          std::span<std::uint64_t> out) override {
    ++neighbour_calls;
    if (fail_neighbours) return Error(ErrorCode::kIo, "the test's disk failed");
    for (std::size_t i = 0; i < positions.size(); ++i) out[i] = wide_.at(positions[i]);
    return {};
  }
  Result<void> edge_ids(std::span<const std::uint64_t> positions,
                        std::span<std::uint64_t> out) override {
    for (std::size_t i = 0; i < positions.size(); ++i) out[i] = ids_.at(positions[i]);
    return {};
  }
  const CscView* resident() const override { return held_ == Held::kHidden ? nullptr : &view_; }

  std::atomic<int> range_calls = 0;  // from several threads
  std::atomic<int> neighbour_calls = 0;
  bool fail_neighbours = false;

 private:
  std::uint64_t num_sources_;
  Held held_;
  std::vector<std::uint64_t> offsets_, wide_, ids_;
  std::vector<std::uint32_t> narrow_;
  CscView view_;
};

struct TestGraph {
  GraphSchema schema;
  std::vector<EdgeLists> edges;  ///< by relation

  SamplerGraph open(Held held) const {
    SamplerGraph graph{&schema, {}};
    for (std::size_t r = 0; r < edges.size(); ++r) {
      const std::uint64_t sources = schema.node_type(schema.relations[r].source)->count;
      graph.relations.push_back(std::make_shared<ListTopology>(sources, edges[r], held));
    }
    return graph;
  }
};

/// Node types of the given counts, named "t0", "t1", ...
inline TestGraph make_graph(const std::vector<std::uint64_t>& counts) {
  TestGraph graph;
  for (std::size_t t = 0; t < counts.size(); ++t) {
    graph.schema.nodes.push_back({.name = "t" + std::to_string(t), .count = counts[t]});
  }
  return graph;
}

/// Adds a relation from type `source` to type `target` with these in-edges.
inline void add_relation(TestGraph& graph,
                         std::size_t source,
                         std::size_t target,
                         EdgeLists lists) {
  RelationSchema relation;
  relation.source = graph.schema.nodes.at(source).name;
  relation.name = "r" + std::to_string(graph.edges.size());
  relation.target = graph.schema.nodes.at(target).name;
  for (const auto& list : lists) relation.edges += list.size();
  graph.schema.relations.push_back(relation);
  graph.edges.push_back(std::move(lists));
}

/// In-edges of `targets` nodes: a few hubs, isolated nodes, many duplicates, and self loops where
/// ids allow.
inline EdgeLists random_lists(std::uint64_t sources, std::uint64_t targets, RandomKey key) {
  EdgeLists lists(targets);
  std::uint64_t counter = 0;
  const auto below = [&](std::uint64_t bound) { return key.below(bound, counter++); };
  std::uint64_t edge = 0;
  for (std::uint64_t target = 0; target < targets; ++target) {
    const std::uint64_t kind = below(10);
    const std::uint64_t degree = kind < 2 ? 0 : kind == 9 ? below(300) : below(12);
    for (std::uint64_t i = 0; i < degree; ++i) {
      const bool loop = below(8) == 0 && target < sources;
      lists[target].push_back({loop ? target : below(sources), 7 * edge + 3});
      ++edge;
    }
    std::sort(lists[target].begin(), lists[target].end());
  }
  return lists;
}

/// 1 to 3 types, 1 to 5 relations between any of them, from one seed.
inline TestGraph random_graph(std::uint64_t seed) {
  const RandomKey key = RandomKey(seed).with("test graph");
  std::vector<std::uint64_t> counts;
  for (std::uint64_t t = 0; t < 1 + key.below(3, 0); ++t)
    counts.push_back(1 + key.below(200, 10 + t));
  TestGraph graph = make_graph(counts);
  for (std::uint64_t r = 0; r < 1 + key.below(5, 1); ++r) {
    const std::size_t source = key.below(counts.size(), 100 + 2 * r);
    const std::size_t target = key.below(counts.size(), 101 + 2 * r);
    add_relation(graph, source, target, random_lists(counts[source], counts[target], key.with(r)));
  }
  return graph;
}

/// Up to `most` distinct nodes of a type.
inline std::vector<std::uint64_t> random_seeds(const TestGraph& graph,
                                               std::size_t type,
                                               std::size_t most,
                                               RandomKey key) {
  std::vector<std::uint64_t> seeds;
  for (std::size_t i = 0; i < most; ++i) {
    const std::uint64_t node = key.below(graph.schema.nodes.at(type).count, i);
    if (std::find(seeds.begin(), seeds.end(), node) == seeds.end()) seeds.push_back(node);
  }
  return seeds;
}

}  // namespace sluice::test
