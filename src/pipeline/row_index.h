// RowIndex: numbers distinct row ids in order of first appearance. Open addressing, linear probing,
// at most half full.
#pragma once

#include <sluice/memory.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

class RowIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Room for `ids` distinct ids, charged to `ledger` as "window index". Throws Error(kResource).
  RowIndex(std::uint64_t ids, MemoryLedger& ledger) {
    const std::uint64_t slots = std::bit_ceil(2 * ids + 16);
    charge_ =
        ledger.charge("window index", slots * sizeof(std::uint32_t) + ids * sizeof(std::uint64_t))
            .or_throw();
    table_.assign(slots, kNone);
    ids_.reserve(ids);
  }

  /// The number of `id`, which is new when it was not there. @pre fewer distinct ids than the room
  /// made for them
  std::uint32_t insert(std::uint64_t id) {
    std::uint32_t& entry = table_[slot_of(id)];
    if (entry == kNone) {
      entry = static_cast<std::uint32_t>(ids_.size());
      ids_.push_back(id);
    }
    return entry;
  }

  /// The number of `id`, or kNone.
  std::uint32_t find(std::uint64_t id) const { return table_[slot_of(id)]; }

  /// The ids by number.
  std::span<const std::uint64_t> ids() const { return ids_; }

 private:
  // The slot that holds `id`, or the empty one where it would go.
  std::uint64_t slot_of(std::uint64_t id) const {
    const std::uint64_t mask = table_.size() - 1;
    std::uint64_t at = (id * 0x9e3779b97f4a7c15ull) >> (64 - std::countr_zero(table_.size()));
    while (table_[at] != kNone && ids_[table_[at]] != id) at = (at + 1) & mask;
    return at;
  }

  Charge charge_;
  std::vector<std::uint32_t> table_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace sluice
