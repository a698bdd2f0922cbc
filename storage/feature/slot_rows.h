// SlotRows: which row each slot of a row cache has, what is known of it, and where an id is.
// Movable; used by one thread at a time.
#pragma once

#include "core/zeroed_array.h"
#include "storage/feature/slot_index.h"

#include <sluice/cache_policy.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

class SlotRows {
  auto id_of() const {
    return [this](std::uint32_t slot) { return rows_[slot].id; };
  }

 public:
  explicit SlotRows(std::uint32_t slots = 0)
      : rows_(slots), index_(slots), unused_((slots + std::uint64_t{63}) / 64) {}

  std::uint32_t slots() const { return static_cast<std::uint32_t>(rows_.size()); }
  std::span<const CachedRow> all() const { return {rows_.data(), rows_.size()}; }
  CachedRow& operator[](std::uint32_t slot) { return rows_[slot]; }

  /// The slot of a row that look-ups find, or SlotIndex::kNoSlot.
  std::uint32_t find(std::uint64_t id) const { return index_.find(id, id_of()); }
  /// Ask for what find(id) looks at first, and for the row that it is likely to find; and for a
  /// slot's.
  void prefetch(std::uint64_t id) const { index_.prefetch(id); }
  void prefetch_found(std::uint64_t id) const {
    const std::uint32_t guess = index_.guess(id);
    if (guess != SlotIndex::kNoSlot) prefetch_slot(guess);
  }
  void prefetch_slot(std::uint32_t slot) const { __builtin_prefetch(&rows_[slot], 1); }

  /// Notes when the slot's row is asked for next.
  void expect_use(std::uint32_t slot, std::uint32_t window) {
    rows_[slot].next_use = window;
    std::uint64_t& word = unused_[slot / 64];
    const std::uint64_t unused = window == kNeverUsed ? 1 : 0;
    word = (word & ~(std::uint64_t{1} << slot % 64)) | unused << slot % 64;
  }
  /// A bit a slot, 64 a word: those whose row is asked for by none that is known.
  std::uint64_t unused(std::size_t word) const { return unused_[word]; }

  /// Look-ups find the slot's row from now on. The index has rows alone that may be asked for: of
  /// an epoch that is known, few may be.
  void seek(std::uint32_t slot) {
    index_.insert(rows_[slot].id, slot);
    rows_[slot].sought = 1;
  }
  /// The slot's row gives way.
  void forget(std::uint32_t slot) {
    if (rows_[slot].sought != 0) index_.erase(slot, id_of());
  }
  /// No look-up finds a row.
  void clear() { index_.clear(); }

 private:
  ZeroedArray<CachedRow> rows_;
  SlotIndex index_;
  std::vector<std::uint64_t> unused_;
};

}  // namespace sluice
