// EventSequences: the events of a layer's targets, of one node type, as sequences by age.
//
// A target's events are its sampled edges of all relations, oldest first: blocks with times list
// each target's in that order, and several blocks are merged by time. Ties keep the order of the
// blocks, and in a block that of edge ids. What belongs to an event is a row of some tensor, in
// this order (in_order()); pad() lays such rows out as [targets, length, columns] for models that
// read sequences. All of it is index arithmetic by LibTorch, on the device of the blocks, and each
// row has a place of its own, so that gradients are copied and never added up. Immutable values.
#pragma once

#include <sluice/batch.h>

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace sluice::nn {

/// Which end of a padded sequence holds the events.
enum class Align {
  kFirst,  ///< the oldest event first, padding behind the latest
  kLast    ///< the latest event last, padding before the oldest
};

class EventSequences {
 public:
  /// @param blocks of one layer, with times, all into one node type; borrowed for the call
  /// @param targets rows of that type; needed where there is no block. Throws kUsage for blocks
  /// without times, kInternal for blocks of other targets.
  EventSequences(const std::vector<const Block*>& blocks,
                 std::int64_t targets,
                 torch::Device device);

  std::int64_t num_targets() const { return counts_.size(0); }
  std::int64_t num_events() const { return targets_.size(0); }
  /// Events of the target that has most.
  std::int64_t longest() const { return longest_; }
  const torch::Tensor& counts() const { return counts_; }        ///< i64 [targets]
  const torch::Tensor& targets() const { return targets_; }      ///< i64 [events], ascending
  const torch::Tensor& positions() const { return positions_; }  ///< i64 [events]: 0 the oldest
  const torch::Tensor& deltas() const { return deltas_; }        ///< i64 [events], ticks

  /// Rows of the blocks' edges, a tensor a block as they were given, in the order of the events:
  /// [events, ...].
  torch::Tensor in_order(const std::vector<torch::Tensor>& by_block) const;

  /// Those of a target's events that are among its `count` latest.
  EventSequences latest(std::int64_t count) const;
  /// Those that were at most `window` ticks before their target's time.
  EventSequences within(std::int64_t window) const;

  /// i64 [events]: of each event its row in [targets * length] rows. @pre length >= longest()
  torch::Tensor places(Align align, std::int64_t length) const;
  /// Rows of events at their places, zeros elsewhere: [targets, length, columns].
  /// @param rows [events, columns]
  torch::Tensor pad(const torch::Tensor& rows, Align align, std::int64_t length) const;
  /// bool [targets, length]: where an event is.
  torch::Tensor mask(Align align, std::int64_t length) const;

  /// The same with the target's own row behind its latest event: the last of its rows.
  /// @param own [targets, columns] @pre length > longest()
  torch::Tensor pad_with_own(const torch::Tensor& rows,
                             const torch::Tensor& own,
                             Align align,
                             std::int64_t length) const;
  torch::Tensor mask_with_own(Align align, std::int64_t length) const;

 private:
  EventSequences() = default;
  EventSequences keep(const torch::Tensor& kept) const;
  void count_positions();

  torch::Tensor counts_, targets_, positions_, deltas_;
  torch::Tensor
      order_;  // i64 [events]: of each its edge among those of the blocks; undefined: same
  std::int64_t longest_ = 0;
};

/// Rows at given places of `count` rows, zeros elsewhere: [count, columns]. @param places i64 [n],
/// distinct
torch::Tensor place_rows(const torch::Tensor& rows,
                         const torch::Tensor& places,
                         std::int64_t count);

}  // namespace sluice::nn
