#include "probe/node_groups.h"

#include "probe/logistic.h"

#include <sluice/array.h>

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
constexpr const char* kGroupsLedger = "node groups";

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

// Sorts the nodes; those of one degree are in one group, in whatever order.
std::vector<NodeGroup> degree_groups(std::vector<TestedNode>& nodes) {
  std::ranges::sort(nodes, {}, &TestedNode::degree);
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
  groups.reserve(kNames.size());
  for (std::size_t i = 0; i < kNames.size(); ++i)
    groups.push_back(group_of(kNames[i], count[i], right[i]));
  return groups;
}

}  // namespace

Tensor distances(const PlainGraph& graph, const Tensor& from, MemoryLedger* ledger) {
  check_numbers(from, static_cast<std::int64_t>(graph.nodes()), "training rows");
  Tensor steps = torch::full({static_cast<std::int64_t>(graph.nodes())}, -1, torch::kInt64);
  auto* const of = steps.data_ptr<std::int64_t>();
  Array queue = Array::make(DType::kU32, {steps.numel()}, ledger, kGroupsLedger).or_throw();
  const auto reached = queue.as<std::uint32_t>();  // each node once, the nearest first
  std::size_t end = 0;
  const auto reach = [&](std::uint32_t node, std::int64_t step) {
    if (of[node] >= 0) return;
    of[node] = step;
    reached[end++] = node;
  };
  const Tensor begin = from.contiguous();
  for (std::int64_t i = 0; i < begin.numel(); ++i)
    reach(static_cast<std::uint32_t>(begin.const_data_ptr<std::int64_t>()[i]), 0);
  for (std::size_t next = 0; next < end; ++next)
    for (const std::uint32_t other : graph.neighbours(reached[next]))
      reach(other, of[reached[next]] + 1);
  return steps;
}

NodeGroups accuracy_by_group(const ProbedNodes& probed,
                             const PlainGraph& graph,
                             const Tensor& trained,
                             MemoryLedger* ledger) {
  const Tensor steps = distances(graph, trained, ledger);
  const auto of = steps.accessor<std::int64_t, 1>();
  const auto tested = probed.tested.accessor<std::int64_t, 1>();
  const auto right = probed.right.accessor<bool, 1>();
  const auto count = static_cast<std::size_t>(probed.tested.size(0));
  Charge charge;
  if (ledger != nullptr)
    charge = ledger->charge(kGroupsLedger, count * sizeof(TestedNode)).or_throw();
  std::vector<TestedNode> nodes;
  nodes.reserve(count);
  for (std::int64_t i = 0; i < probed.tested.size(0); ++i)
    nodes.push_back({graph.degree(static_cast<std::uint64_t>(tested[i])), of[tested[i]], right[i]});
  return {degree_groups(nodes), distance_groups(nodes)};
}

std::uint64_t group_bytes(std::uint64_t nodes, std::uint64_t tested) {
  return nodes * sizeof(std::int64_t) +
         std::max(nodes * sizeof(std::uint32_t), tested * sizeof(TestedNode));
}

}  // namespace sluice::probe
