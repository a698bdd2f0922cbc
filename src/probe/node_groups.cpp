#include "probe/node_groups.h"

#include "probe/logistic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace sluice::probe {
namespace {

using torch::Tensor;

constexpr std::size_t kQuartiles = 4;

NodeGroup group_of(std::string name, std::uint64_t nodes, std::uint64_t right) {
  return {std::move(name),
          nodes,
          nodes == 0 ? std::numeric_limits<double>::quiet_NaN()
                     : static_cast<double>(right) / static_cast<double>(nodes)};
}

struct TestedNode {
  std::uint64_t degree;
  std::int64_t distance;
  bool right;
};

std::vector<NodeGroup> degree_groups(std::vector<TestedNode> nodes) {
  std::ranges::stable_sort(nodes, {}, &TestedNode::degree);
  std::vector<NodeGroup> groups;
  std::size_t first = 0;
  for (std::size_t quartile = 1; quartile <= kQuartiles; ++quartile) {
    std::size_t last = nodes.size() * quartile / kQuartiles;
    // Those of the same degree as the last one belong to it.
    while (last > 0 && last < nodes.size() && nodes[last].degree == nodes[last - 1].degree) ++last;
    if (last <= first) continue;
    std::uint64_t right = 0;
    for (std::size_t i = first; i < last; ++i) right += nodes[i].right ? 1u : 0u;
    groups.push_back(group_of(
        fmt::format("{}-{}", nodes[first].degree, nodes[last - 1].degree), last - first, right));
    first = last;
  }
  return groups;
}

std::vector<NodeGroup> distance_groups(const std::vector<TestedNode>& nodes) {
  constexpr std::array<const char*, 4> kNames{"1", "2", "3+", "unreachable"};
  std::array<std::uint64_t, 4> count{}, right{};
  for (const TestedNode& node : nodes) {
    // A node that is also trained on stands with the nearest.
    const std::size_t group =
        node.distance < 0
            ? 3
            : static_cast<std::size_t>(std::clamp<std::int64_t>(node.distance, 1, 3) - 1);
    ++count[group];
    right[group] += node.right ? 1u : 0u;
  }
  std::vector<NodeGroup> groups;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    groups.push_back(group_of(kNames[i], count[i], right[i]));
  return groups;
}

}  // namespace

Tensor distances(const PlainGraph& graph, const Tensor& from) {
  check_numbers(from, static_cast<std::int64_t>(graph.nodes()), "training rows");
  Tensor steps = torch::full({static_cast<std::int64_t>(graph.nodes())}, -1, torch::kInt64);
  auto* const of = steps.data_ptr<std::int64_t>();
  std::vector<std::uint64_t> reached, next;
  const Tensor begin = from.contiguous();
  for (std::int64_t i = 0; i < begin.numel(); ++i) {
    const std::int64_t node = begin.const_data_ptr<std::int64_t>()[i];
    if (std::exchange(of[node], 0) < 0) reached.push_back(static_cast<std::uint64_t>(node));
  }
  for (std::int64_t step = 1; !reached.empty(); ++step) {
    next.clear();
    for (const std::uint64_t node : reached)
      for (const std::uint32_t other : graph.neighbours(node)) {
        if (of[other] >= 0) continue;
        of[other] = step;
        next.push_back(other);
      }
    std::swap(reached, next);
  }
  return steps;
}

NodeGroups accuracy_by_group(const ProbedNodes& probed,
                             const PlainGraph& graph,
                             const Tensor& trained) {
  const Tensor steps = distances(graph, trained);
  const auto of = steps.accessor<std::int64_t, 1>();
  const auto tested = probed.tested.accessor<std::int64_t, 1>();
  const auto right = probed.right.accessor<bool, 1>();
  std::vector<TestedNode> nodes;
  for (std::int64_t i = 0; i < probed.tested.size(0); ++i)
    nodes.push_back({graph.degree(static_cast<std::uint64_t>(tested[i])), of[tested[i]], right[i]});
  return {degree_groups(nodes), distance_groups(nodes)};
}

}  // namespace sluice::probe
