// PageCache: pages of a topology's files that are asked for often, kept in RAM.
//
// A full cache takes a page in only when it was asked for more often lately than the one it would
// push out (TinyLFU: Einziger, Friedman, Manes 2017), which CLOCK picks; so the many pages that are
// sampled once cost no copy and push nothing out. What it holds changes what is read, never what
// is delivered. Not thread-safe.
#pragma once

#include "storage/io/aligned_buffer.h"

#include <sluice/memory.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

class PageCache {
 public:
  PageCache() = default;  ///< holds nothing

  /// As many pages as fit `capacity_bytes` with all that keeps them, at most `num_pages` (the pages
  /// there are). Charged as "topology cache". Errors: kResource.
  static Result<PageCache> make(std::uint64_t capacity_bytes,
                                std::uint64_t num_pages,
                                MemoryLedger* ledger);

  /// The page's bytes, or null. Counts as a use of the page either way. The bytes are valid until
  /// the next offer().
  const std::byte* find(std::uint64_t page);

  /// Whether it has the page; no use of it.
  bool holds(std::uint64_t page) const { return capacity_ != 0 && table_[place_of(page)] != 0; }

  /// A page that was read, to be copied in if it is worth its place. @pre find(page) was null
  void offer(std::uint64_t page, const std::byte* bytes);

  /// Pages it has room for.
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  std::size_t place_of(std::uint64_t page) const;
  std::size_t home_of(std::uint64_t page) const;
  std::array<std::size_t, 4> counters_of(std::uint64_t page) const;
  void count_use(std::uint64_t page);
  int uses_of(std::uint64_t page) const;
  bool find_victim();
  void drop(std::size_t slot);
  void fill(std::size_t slot, std::uint64_t page, const std::byte* bytes);

  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  AlignedBuffer pages_;
  Charge charge_;
  std::vector<std::uint64_t> page_of_;  // by slot
  std::vector<std::uint8_t> marks_;     // by slot: uses since the hand came by, at most 3
  std::vector<std::uint32_t> table_;    // open addressing: slot + 1, 0 is free
  std::vector<std::uint8_t> uses_;      // counts by hash, at most 15, halved now and then
  std::uint64_t counted_ = 0;           // uses since they were halved
  std::size_t hand_ = 0;
};

}  // namespace sluice
