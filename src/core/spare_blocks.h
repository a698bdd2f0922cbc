// SpareBlocks: large blocks of memory that were freed, kept for the next of their size. Not
// thread-safe: the memory ledger guards and counts them.
//
// Mini-batches and the tensors of a step come and go in nearly the same sizes. Fresh memory is
// zeroed by the system page by page: a twelfth of the processor time of an epoch in memory.
#pragma once

#include <sluice/memory.h>

#include <cstdint>
#include <deque>

namespace sluice {

class SpareBlocks {
 public:
  SpareBlocks() = default;
  SpareBlocks(const SpareBlocks&) = delete;
  SpareBlocks& operator=(const SpareBlocks&) = delete;
  ~SpareBlocks() { shrink(0); }

  /// Of all that are kept.
  std::uint64_t bytes() const { return bytes_; }
  /// The smallest of at least so many bytes and at most an eighth more, and of these the newest;
  /// one without memory where there is none. Mini-batches differ by that much: blocks of just their
  /// size would be made anew for every fourth.
  MemoryBlock take(std::uint64_t bytes);
  /// @param block of std::aligned_alloc
  void keep(const MemoryBlock& block);
  /// Frees the oldest until at most so many bytes are kept.
  void shrink(std::uint64_t most) noexcept;

 private:
  std::deque<MemoryBlock> blocks_;  // oldest first
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice
