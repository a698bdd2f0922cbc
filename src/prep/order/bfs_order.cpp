#include "prep/order/bfs_order.h"

#include "core/interrupt.h"
#include "storage/format/relation_lists.h"

#include <sluice/dataset.h>

#include <memory>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kBatchEdges = std::uint64_t{1} << 18;  // asked for at a time

class Search {
 public:
  explicit Search(const OrderInput& input)
      : input_(input),
        dataset_(Dataset::open(input.root.string(), {.ledger = &input.context.ledger})),
        order_(input.node.count, input.node.count, &input.context.ledger, "node order"),
        seen_charge_(
            input.context.ledger.charge("node order", input.node.count / 8 + 8).or_throw()),
        seen_(input.node.count, false) {
    for (const RelationSchema* relation : input.own_relations()) {
      const std::uint64_t bytes =
          relation->edges * size_of(node_id_dtype(input.node.count)) +
          RelationLists::of(input.manifest.schema, *relation, ListsOf::kTargets).resident_bytes();
      const bool fits = bytes < input.context.ledger.available() / 2;
      topologies_.push_back(dataset_.topology(
          relation->key(), {.placement = fits ? Placement::kMemory : Placement::kDisk}));
    }
  }

  IdArray run() {
    const IdArray hot = sorted_by_key(out_degrees(input_), &input_.context.ledger);
    Progress progress(input_.context.progress, "bfs", hot.size(), "nodes");
    for (std::uint64_t i = 0; i < hot.size(); ++i) {
      if (seen_[hot[i]]) continue;
      reach(hot[i]);
      std::uint64_t level = found_ - 1;
      while (level < found_) {  // nodes [level, found_) are reached, their neighbours are not
        const std::uint64_t end = found_;
        expand(level, end);
        progress.add(end - level);
        level = end;
      }
    }
    return std::move(order_);
  }

 private:
  void reach(std::uint64_t node) {
    seen_[node] = true;
    order_.set(found_++, node);
  }

  void expand(std::uint64_t first, std::uint64_t last) {
    for (const auto& topology : topologies_) {
      targets_.clear();
      for (std::uint64_t i = first; i < last; ++i) {
        targets_.push_back(order_[i]);
        if (targets_.size() < 4096 && i + 1 < last) continue;
        ranges_.resize(targets_.size());
        topology->ranges(targets_, ranges_).or_throw();
        for (const EdgeRange& range : ranges_) visit(*topology, range);
        targets_.clear();
        throw_if_interrupted();
      }
      flush(*topology);
    }
  }

  void visit(Topology& topology, const EdgeRange& range) {
    for (std::uint64_t at = range.begin; at < range.end; ++at) {
      positions_.push_back(at);
      if (positions_.size() == kBatchEdges) flush(topology);
    }
  }

  void flush(Topology& topology) {
    neighbours_.resize(positions_.size());
    topology.neighbours(positions_, neighbours_).or_throw();
    positions_.clear();
    for (const std::uint64_t node : neighbours_)
      if (!seen_[node]) reach(node);
  }

  const OrderInput& input_;
  Dataset dataset_;
  std::vector<std::unique_ptr<Topology>> topologies_;
  IdArray order_;
  Charge seen_charge_;
  std::vector<bool> seen_;
  std::uint64_t found_ = 0;
  std::vector<std::uint64_t> targets_, positions_, neighbours_;
  std::vector<EdgeRange> ranges_;
};

}  // namespace

IdArray BfsOrder::order(const OrderInput& input) {
  return Search(input).run();
}

}  // namespace sluice
