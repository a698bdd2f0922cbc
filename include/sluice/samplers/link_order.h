// LinkOrder: which links each mini-batch of an epoch asks about, and beside which nodes they may be
// set. LinkQueries goes by it.
//
// A pure function of (epoch, index), so that an epoch may be begun anywhere. Thread-safe.
#pragma once

#include <sluice/error.h>
#include <sluice/samplers/seed_order.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Consecutive nodes of a type.
struct NodeRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Which nodes may be set beside the links of a mini-batch, by the type of an end. None: all of it.
struct OtherNodes {
  std::vector<NodeRange> sources, destinations;
};

/// How many nodes some ranges have.
inline std::uint64_t count_of(std::span<const NodeRange> ranges) {
  std::uint64_t count = 0;
  for (const NodeRange& range : ranges) count += range.count;
  return count;
}

/// The node at a place of ranges that lie one behind the other. @pre place < count_of(ranges)
inline std::uint64_t node_at(std::span<const NodeRange> ranges, std::uint64_t place) {
  for (const NodeRange& range : ranges) {
    if (place < range.count) return range.first + place;
    place -= range.count;
  }
  return ranges.back().first;
}

class LinkOrder {
 public:
  virtual ~LinkOrder() = default;

  /// Mini-batches an epoch: as many in each.
  virtual std::uint64_t num_batches() const = 0;
  /// Links of a mini-batch. @pre index < num_batches()
  virtual std::uint64_t size(std::uint64_t epoch, std::uint64_t index) const = 0;
  /// Their numbers. @pre out.size() == size(epoch, index)
  virtual void numbers(std::uint64_t epoch,
                       std::uint64_t index,
                       std::span<std::uint64_t> out) const = 0;
  virtual OtherNodes others(std::uint64_t /*epoch*/, std::uint64_t /*index*/) const { return {}; }
};

/// All links in one order, shuffled anew in each epoch or as they are, beside any nodes.
class WholeLinkOrder final : public LinkOrder {
 public:
  /// Throws kUsage for a batch size of 0.
  WholeLinkOrder(std::uint64_t links, std::int64_t batch_size, Shuffle shuffle, RandomKey key)
      : links_(links),
        batch_size_(static_cast<std::uint64_t>(std::max<std::int64_t>(batch_size, 0))),
        shuffle_(shuffle),
        key_(key) {
    if (batch_size < 1)
      throw Error(ErrorCode::kUsage, "a mini-batch of no links", "set the batch size to 1 or more");
  }

  std::uint64_t num_batches() const override { return (links_ + batch_size_ - 1) / batch_size_; }
  std::uint64_t size(std::uint64_t, std::uint64_t index) const override {
    return std::min(batch_size_, links_ - index * batch_size_);
  }
  void numbers(std::uint64_t epoch,
               std::uint64_t index,
               std::span<std::uint64_t> out) const override {
    const std::uint64_t first = index * batch_size_;
    const Permutation order(links_, key_.with(epoch));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = shuffle_ == Shuffle::kOff ? first + i : order.at(first + i);
  }

 private:
  std::uint64_t links_;
  std::uint64_t batch_size_;
  Shuffle shuffle_;
  RandomKey key_;
};

}  // namespace sluice
