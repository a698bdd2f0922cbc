// CoalescedIds: the distinct ids of a batch, and at which positions each stands, ascending: the
// lists by which segment_sum adds up the gradients of each id, in the order of the batch.
#pragma once

#include "kernels/views.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Keeps its memory from batch to batch. Not thread-safe.
class CoalescedIds {
 public:
  /// Memory that an id takes, at most.
  static constexpr std::uint64_t kBytesOfId = 2 * 16 + 8 + 8 + 4;

  /// @pre fewer than 2^31 ids
  void assign(std::span<const std::uint64_t> ids);

  /// Ascending.
  std::span<const std::uint64_t> distinct() const { return distinct_; }
  kernels::RowLists lists() const {
    return {offsets_.data(), positions_.data(), static_cast<std::int64_t>(distinct_.size())};
  }

 private:
  struct At {
    std::uint64_t id;
    std::int32_t position;
  };
  std::vector<At> sorted_, scratch_;
  std::vector<std::uint64_t> distinct_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int32_t> positions_;
};

}  // namespace sluice
