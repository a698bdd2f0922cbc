#include "prep/order/cluster_order.h"

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

// Labels move from node to node as edges pass by, in one thread and in the order of the edges: the
// result is the same always.
class Propagation {
 public:
  Propagation(const OrderInput& input, std::uint64_t most)
      : input_(input),
        most_(most),
        labels_(input.node.count, input.node.count, &input.context.ledger, "node order"),
        sizes_(input.node.count, input.node.count + 1, &input.context.ledger, "node order") {
    for (std::uint64_t node = 0; node < input.node.count; ++node) {
      labels_.set(node, node);
      sizes_.set(node, 1);
    }
  }

  /// Returns how many nodes moved.
  std::uint64_t round() {
    moved_ = 0;
    votes_.clear();
    input_.for_each_edge([&](std::uint64_t source, std::uint64_t target) {
      if (target != target_) settle();
      target_ = target;
      if (source != target && votes_.size() < kMaxVotes) votes_.push_back(labels_[source]);
    });
    settle();
    return moved_;
  }

  const IdArray& labels() const { return labels_; }
  const IdArray& sizes() const { return sizes_; }

 private:
  static constexpr std::size_t kMaxVotes = 4096;  // of a hub, its first neighbours are enough

  // The target takes the label that most of its neighbours have, if that cluster has room.
  void settle() {
    if (votes_.empty()) return;
    std::sort(votes_.begin(), votes_.end());
    const std::uint64_t own = labels_[target_];
    std::uint64_t best = own;
    std::size_t best_votes = count_of(own);
    for (std::size_t at = 0; at < votes_.size();) {
      std::size_t end = at;
      while (end < votes_.size() && votes_[end] == votes_[at]) ++end;
      if (end - at > best_votes && sizes_[votes_[at]] < most_) {
        best = votes_[at];
        best_votes = end - at;
      }
      at = end;
    }
    votes_.clear();
    if (best == own) return;
    labels_.set(target_, best);
    sizes_.set(best, sizes_[best] + 1);
    sizes_.set(own, sizes_[own] - 1);
    ++moved_;
  }

  std::size_t count_of(std::uint64_t label) const {
    const auto [first, last] = std::equal_range(votes_.begin(), votes_.end(), label);
    return static_cast<std::size_t>(last - first);
  }

  const OrderInput& input_;
  std::uint64_t most_;
  IdArray labels_, sizes_;
  std::vector<std::uint64_t> votes_;
  std::uint64_t target_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace

void ClusterOrder::Options::describe(Schema& schema) {
  schema.field("rounds", rounds).help("passes over the edges, at most").range(1, 1000);
  schema.field("size", size).help("nodes a cluster, at most").range(1, 1e12);
}

IdArray ClusterOrder::order(const OrderInput& input) {
  Propagation propagation(input, static_cast<std::uint64_t>(options_.size));
  Progress progress(
      input.context.progress, "cluster", static_cast<std::uint64_t>(options_.rounds), "rounds");
  for (std::int64_t round = 0; round < options_.rounds; ++round) {
    const std::uint64_t moved = propagation.round();
    progress.add(1);
    if (moved * 100 < input.node.count) break;  // the rest would be for little
  }
  // Clusters by label; within one, nodes by id: a counting sort.
  MemoryLedger* const ledger = &input.context.ledger;
  IdArray begins(input.node.count, input.node.count + 1, ledger, "node order");
  std::uint64_t sum = 0;
  for (std::uint64_t label = 0; label < input.node.count; ++label) {
    begins.set(label, sum);
    sum += propagation.sizes()[label];
  }
  IdArray order(input.node.count, input.node.count, ledger, "node order");
  for (std::uint64_t node = 0; node < input.node.count; ++node) {
    const std::uint64_t label = propagation.labels()[node];
    const std::uint64_t at = begins[label];
    order.set(at, node);
    begins.set(label, at + 1);
  }
  return order;
}

}  // namespace sluice
