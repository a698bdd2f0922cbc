#include "prep/order/page_touches.h"

#include "core/interrupt.h"
#include "storage/format/relation_lists.h"

#include <sluice/dataset.h>
#include <sluice/random.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr std::uint64_t kWindow = 8;  // mini-batches whose rows are read together
constexpr int kHops = 2;
constexpr std::uint64_t kFanout = 10;
constexpr std::uint64_t kRowsAPage = 8;  // of a type without features: 128 x f32

using Nodes = std::vector<std::uint64_t>;

void make_distinct(Nodes& nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

class Epoch {
 public:
  Epoch(const OrderInput& input, const IdArray& new_of_old)
      : input_(input),
        new_of_old_(new_of_old),
        dataset_(Dataset::open(input.root.string(), {.ledger = &input.context.ledger})),
        key_(RandomKey(1).with("page touches")) {
    if (!input.node.features.empty()) layout_ = Manifest::layout_of(input.node.features.front());
    for (const RelationSchema* relation : input.own_relations()) {
      const std::uint64_t bytes =
          relation->edges * size_of(node_id_dtype(input.node.count)) +
          RelationLists::of(input.manifest.schema, *relation, ListsOf::kTargets).resident_bytes();
      const bool fits = bytes < input.context.ledger.available() / 2;
      topologies_.push_back(dataset_.topology(
          relation->key(), {.placement = fits ? Placement::kMemory : Placement::kDisk}));
    }
  }

  PageTouches run() {
    const Nodes seeds = choose_seeds();
    PageTouches touches;
    Nodes window;
    for (std::size_t at = 0; at < seeds.size(); at += kBatch) {
      throw_if_interrupted();
      const auto first = seeds.begin() + static_cast<std::ptrdiff_t>(at);
      const auto count = static_cast<std::ptrdiff_t>(std::min(kBatch, seeds.size() - at));
      add_batch({first, first + count}, key_.with(touches.batches), window);
      if (++touches.batches % kWindow == 0) count_window(window, touches);
    }
    count_window(window, touches);
    return touches;
  }

 private:
  Nodes choose_seeds() const {
    if (input_.node.count == 0) return {};
    Nodes seeds = input_.training_seeds();
    if (seeds.empty()) {
      for (std::uint64_t i = 0; i < input_.node.count / 20 + 1; ++i)
        seeds.push_back(key_.with("seeds").below(input_.node.count, i));
    }
    for (std::size_t i = seeds.size(); i > 1; --i)
      std::swap(seeds[i - 1], seeds[key_.with("shuffle").below(i, i)]);
    return seeds;
  }

  void add_batch(Nodes frontier, RandomKey key, Nodes& window) {
    window.insert(window.end(), frontier.begin(), frontier.end());
    for (int hop = 0; hop < kHops; ++hop) {
      frontier = sample(frontier, key.with(static_cast<std::uint64_t>(hop)));
      window.insert(window.end(), frontier.begin(), frontier.end());
    }
  }

  void count_window(Nodes& window, PageTouches& touches) const {
    make_distinct(window);
    touches.rows += window.size();
    touches.pages_before += pages_of(window);
    for (std::uint64_t& row : window) row = new_of_old_[row];
    touches.pages_after += pages_of(window);
    window.clear();
  }

  Nodes sample(const Nodes& targets, RandomKey key) {
    Nodes found, positions, neighbours;
    std::vector<EdgeRange> ranges(targets.size());
    for (std::size_t t = 0; t < topologies_.size(); ++t) {
      topologies_[t]->ranges(targets, ranges).or_throw();
      positions.clear();
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const RandomKey own = key.with(t).with(targets[i]);
        const std::uint64_t draws = std::min(kFanout, ranges[i].degree());
        for (std::uint64_t draw = 0; draw < draws; ++draw)
          positions.push_back(ranges[i].begin + own.below(ranges[i].degree(), draw));
      }
      neighbours.resize(positions.size());
      topologies_[t]->neighbours(positions, neighbours).or_throw();
      found.insert(found.end(), neighbours.begin(), neighbours.end());
    }
    make_distinct(found);
    return found;
  }

  std::uint64_t pages_of(const Nodes& rows) const {
    Nodes pages;
    for (const std::uint64_t row : rows) {
      const std::uint64_t first = layout_ ? layout_->first_page_of(row) : row / kRowsAPage;
      const std::uint64_t last = layout_ ? layout_->last_page_of(row) : first;
      for (std::uint64_t page = first; page <= last; ++page) pages.push_back(page);
    }
    make_distinct(pages);
    return pages.size();
  }

  const OrderInput& input_;
  const IdArray& new_of_old_;
  Dataset dataset_;
  RandomKey key_;
  std::optional<FeatureLayout> layout_;
  std::vector<std::unique_ptr<Topology>> topologies_;
};

}  // namespace

PageTouches count_page_touches(const OrderInput& input, const IdArray& new_of_old) {
  return Epoch(input, new_of_old).run();
}

}  // namespace sluice
