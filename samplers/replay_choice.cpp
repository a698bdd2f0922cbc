#include "samplers/replay_choice.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint32_t kNoWay = std::numeric_limits<std::uint32_t>::max();

Result<Array> replay_array(DType dtype, std::size_t count, MemoryLedger* ledger) {
  return Array::make(dtype, {static_cast<std::int64_t>(count)}, ledger, "replay");
}

// The candidates by their draws.
Result<Array> drawn_order(std::span<const std::uint64_t> candidates,
                          RandomKey key,
                          MemoryLedger* ledger) {
  auto made = replay_array(DType::kU64, candidates.size(), ledger);
  if (!made) return made;
  const auto order = made.value().as<std::uint64_t>();
  std::ranges::copy(candidates, order.begin());
  std::ranges::sort(order, [&](std::uint64_t a, std::uint64_t b) {
    return std::pair(key.draw(a), a) < std::pair(key.draw(b), b);
  });
  return made;
}

Result<ReplayChoice> room_for(std::size_t count, MemoryLedger* ledger) {
  auto nodes = replay_array(DType::kU64, count, ledger);
  if (!nodes) return std::move(nodes).error();
  auto weights = replay_array(DType::kU64, count, ledger);
  if (!weights) return std::move(weights).error();
  return ReplayChoice{std::move(nodes).value(), std::move(weights).value()};
}

// How far each node is from the chosen ones, and which of them is nearest.
class Coverage {
 public:
  Coverage(const ReplayGraph& graph, Array hops, Array owners, Array queue)
      : graph_(graph),
        arrays_{std::move(hops), std::move(owners), std::move(queue)},
        hops_(arrays_[0].as<std::uint32_t>()),
        owners_(arrays_[1].as<std::uint64_t>()),
        queue_(arrays_[2].as<std::uint64_t>()) {
    std::ranges::fill(hops_, kNoWay);
  }

  std::uint32_t hops(std::uint64_t node) const { return hops_[node]; }
  std::uint64_t owner(std::uint64_t node) const { return owners_[node]; }

  // Whoever is strictly nearer to it goes over to it. A node that is not cuts the search: what is
  // behind it is as near to another by the same way.
  void choose(std::uint64_t node, std::uint64_t owner) {
    std::size_t first = 0, last = 0;
    const auto take = [&](std::uint64_t reached, std::uint32_t hops) {
      if (hops >= hops_[reached]) return;
      hops_[reached] = hops;
      owners_[reached] = owner;
      queue_[last++] = reached;
    };
    take(node, 0);
    while (first < last) {
      const std::uint64_t from = queue_[first++];
      const std::uint32_t next = hops_[from] + 1;
      for (const std::uint64_t neighbour : graph_.neighbours(from)) take(neighbour, next);
    }
  }

 private:
  const ReplayGraph& graph_;
  std::array<Array, 3> arrays_;
  std::span<std::uint32_t> hops_;
  std::span<std::uint64_t> owners_;
  std::span<std::uint64_t> queue_;
};

Result<Coverage> make_coverage(const ReplayGraph& graph, MemoryLedger* ledger) {
  const std::size_t nodes = graph.num_nodes();
  auto hops = replay_array(DType::kU32, nodes, ledger);
  if (!hops) return std::move(hops).error();
  auto owners = replay_array(DType::kU64, nodes, ledger);
  if (!owners) return std::move(owners).error();
  auto queue = replay_array(DType::kU64, nodes, ledger);
  if (!queue) return std::move(queue).error();
  return Coverage(
      graph, std::move(hops).value(), std::move(owners).value(), std::move(queue).value());
}

}  // namespace

Result<ReplayChoice> choose_uniformly(std::span<const std::uint64_t> candidates,
                                      std::uint64_t count,
                                      RandomKey key,
                                      MemoryLedger* ledger) {
  auto order = drawn_order(candidates, key, ledger);
  if (!order) return std::move(order).error();
  const std::size_t chosen = std::min<std::uint64_t>(count, candidates.size());
  auto made = room_for(chosen, ledger);
  if (!made) return made;
  const auto drawn = std::as_const(order.value()).as<std::uint64_t>();
  std::ranges::copy(drawn.first(chosen), made.value().nodes.as<std::uint64_t>().begin());
  std::ranges::fill(made.value().weights.as<std::uint64_t>(), std::uint64_t{1});
  return made;
}

Result<ReplayChoice> choose_by_structure(const ReplayGraph& graph,
                                         std::span<const std::uint64_t> candidates,
                                         std::uint64_t count,
                                         RandomKey key,
                                         MemoryLedger* ledger) {
  auto order = drawn_order(candidates, key, ledger);
  if (!order) return std::move(order).error();
  auto covered = make_coverage(graph, ledger);
  if (!covered) return std::move(covered).error();
  const std::size_t wanted = std::min<std::uint64_t>(count, candidates.size());
  auto made = room_for(wanted, ledger);
  if (!made) return made;
  Coverage& coverage = covered.value();
  const auto nodes = made.value().nodes.as<std::uint64_t>();
  const auto drawn = std::as_const(order.value()).as<std::uint64_t>();
  // Hops only fall, and while some are at the farthest none comes to it: so a level is one pass.
  std::size_t chosen = 0;
  for (std::uint32_t level = kNoWay; chosen < wanted;) {
    for (std::size_t i = 0; i < drawn.size() && chosen < wanted; ++i) {
      if (coverage.hops(drawn[i]) != level) continue;
      coverage.choose(drawn[i], chosen);
      nodes[chosen++] = drawn[i];
    }
    level = 0;
    for (const std::uint64_t node : drawn) level = std::max(level, coverage.hops(node));
  }
  const auto weights = made.value().weights.as<std::uint64_t>();
  std::ranges::fill(weights, std::uint64_t{0});
  for (const std::uint64_t node : drawn)
    if (coverage.hops(node) != kNoWay) ++weights[coverage.owner(node)];
  return made;
}

}  // namespace sluice
