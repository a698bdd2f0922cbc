// SpareBlocks: large blocks of memory that were freed, kept for the next of their size. Not
// thread-safe: the memory ledger guards and counts them.
//
// Mini-batches and the tensors of a step come and go in nearly the same sizes. Fresh memory is
// zeroed by the system page by page: a twelfth of the processor time of an epoch in memory.
#pragma once

#include <cstddef>
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
  /// One of exactly this size, the newest; null where there is none.
  void* take(std::uint64_t bytes);
  /// @param block of std::aligned_alloc
  void keep(void* block, std::uint64_t bytes);
  /// Frees the oldest until at most so many bytes are kept.
  void shrink(std::uint64_t most) noexcept;

 private:
  struct Block {
    void* data;
    std::uint64_t bytes;
  };
  std::deque<Block> blocks_;  // oldest first
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice
