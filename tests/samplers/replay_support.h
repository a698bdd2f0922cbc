// Small graphs to choose replay buffers over, and plain ways to do what samplers/replay_* do.
#pragma once

#include "samplers/replay_graph.h"

#include <sluice/random.h>
#include <sluice/samplers/links.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice::test {

using EdgeList = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
using NodeList = std::vector<std::uint64_t>;

inline constexpr std::uint64_t kUnreached = std::numeric_limits<std::uint64_t>::max();

inline EdgeList draw_edges(std::uint64_t nodes, std::uint64_t edges, RandomKey key) {
  EdgeList drawn;
  for (std::uint64_t i = 0; i < edges; ++i)
    drawn.emplace_back(key.with(i).below(nodes, 0), key.with(i).below(nodes, 1));
  return drawn;
}

inline EdgePass pass_of(const EdgeList& edges) {
  return [&edges](const EdgeVisit& visit) -> Result<void> {
    for (const auto& [one, other] : edges) visit(one, other);
    return {};
  };
}

inline Array array_of(const NodeList& values) {
  Array array = Array::make(DType::kU64, {static_cast<std::int64_t>(values.size())}).or_throw();
  std::ranges::copy(values, array.as<std::uint64_t>().begin());
  return array;
}

inline NodeList list_of(std::span<const std::uint64_t> values) {
  return {values.begin(), values.end()};
}

inline ListedLinks links_of(const EdgeList& edges) {
  NodeList sources, targets;
  for (const auto& [source, target] : edges) {
    sources.push_back(source);
    targets.push_back(target);
  }
  return ListedLinks({array_of(sources), array_of(targets), {}, {}});
}

/// Hops from one node to each, by rounds over all edges.
inline NodeList hops_from(std::uint64_t from, std::uint64_t nodes, const EdgeList& edges) {
  NodeList hops(nodes, kUnreached);
  hops[from] = 0;
  for (std::uint64_t round = 0; round < nodes; ++round) {
    for (const auto& [one, other] : edges) {
      if (hops[one] == round && hops[other] == kUnreached) hops[other] = round + 1;
      if (hops[other] == round && hops[one] == kUnreached) hops[one] = round + 1;
    }
  }
  return hops;
}

/// Farthest first, each time over all candidates; and for how many each stands.
inline std::pair<NodeList, NodeList> choose_plainly(const NodeList& candidates,
                                                    std::uint64_t nodes,
                                                    const EdgeList& edges,
                                                    std::uint64_t count,
                                                    RandomKey key) {
  NodeList chosen, nearest(nodes, kUnreached), owner(nodes, kUnreached);
  while (chosen.size() < std::min<std::uint64_t>(count, candidates.size())) {
    const std::uint64_t best =
        *std::ranges::min_element(candidates, [&](std::uint64_t a, std::uint64_t b) {
          return std::tuple(kUnreached - nearest[a], key.draw(a), a) <
                 std::tuple(kUnreached - nearest[b], key.draw(b), b);
        });
    const NodeList hops = hops_from(best, nodes, edges);
    for (std::uint64_t node = 0; node < nodes; ++node) {
      if (hops[node] >= nearest[node]) continue;
      nearest[node] = hops[node];
      owner[node] = chosen.size();
    }
    chosen.push_back(best);
  }
  NodeList weights(chosen.size());
  for (const std::uint64_t node : candidates)
    if (owner[node] != kUnreached) ++weights[owner[node]];
  return {chosen, weights};
}

}  // namespace sluice::test
