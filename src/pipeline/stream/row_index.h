// RowIndex: numbers distinct row ids in order of first appearance. Open addressing, linear probing,
// at most half full. Not thread-safe; lookups may run side by side.
#pragma once

#include <sluice/memory.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

class RowIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Bytes of memory that room for one id takes, at most.
  static constexpr std::uint64_t kBytesAnId = sizeof(std::uint64_t) + 4 * sizeof(std::uint32_t);

  /// Room for `ids` distinct ids, charged to `ledger` as "window index". Throws Error(kResource).
  RowIndex(std::uint64_t ids, MemoryLedger& ledger) : room_(ids) {
    const std::uint64_t slots = std::bit_ceil(2 * ids + 2);
    charge_ =
        ledger.charge("window index", slots * sizeof(std::uint32_t) + ids * sizeof(std::uint64_t))
            .or_throw();
    table_.assign(slots, kNone);
    ids_.reserve(ids);
  }

  /// The number of `id`, which is new when it was not there; kNone when there is no room for it.
  std::uint32_t insert(std::uint64_t id) {
    std::uint32_t& entry = table_[slot_of(id)];
    if (entry == kNone) {
      if (ids_.size() == room_) return kNone;
      entry = static_cast<std::uint32_t>(ids_.size());
      ids_.push_back(id);
    }
    return entry;
  }

  /// Numbers many ids: out[i] is that of ids[i]. Returns how many it came to: fewer than all where
  /// one more would be new beyond `most`. @pre most <= the room
  std::size_t insert_all(std::span<const std::uint64_t> ids,
                         std::uint64_t most,
                         std::span<std::uint32_t> out) {
    constexpr std::size_t kAhead = 16;  // each id is two misses of the processor's cache
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i + 2 * kAhead < ids.size()) __builtin_prefetch(&table_[home(ids[i + 2 * kAhead])]);
      if (i + kAhead < ids.size()) {
        const std::uint32_t entry = table_[home(ids[i + kAhead])];
        if (entry != kNone) __builtin_prefetch(&ids_[entry]);
      }
      out[i] = insert(ids[i]);
      if (out[i] == kNone || ids_.size() > most) return i;
    }
    return ids.size();
  }

  /// Takes the newest ids out again until `size` are left. Newest first: so no probe is broken.
  void truncate(std::size_t size) {
    while (ids_.size() > size) {
      table_[slot_of(ids_.back())] = kNone;
      ids_.pop_back();
    }
  }

  /// The number of `id`, or kNone.
  std::uint32_t find(std::uint64_t id) const { return table_[slot_of(id)]; }

  std::size_t size() const { return ids_.size(); }
  /// The ids by number.
  std::span<const std::uint64_t> ids() const { return ids_; }

 private:
  std::uint64_t home(std::uint64_t id) const {
    return (id * 0x9e3779b97f4a7c15ull) >> (64 - std::countr_zero(table_.size()));
  }
  // The slot that holds `id`, or the empty one where it would go.
  std::uint64_t slot_of(std::uint64_t id) const {
    const std::uint64_t mask = table_.size() - 1;
    std::uint64_t at = home(id);
    while (table_[at] != kNone && ids_[table_[at]] != id) at = (at + 1) & mask;
    return at;
  }

  Charge charge_;
  std::uint64_t room_;
  std::vector<std::uint32_t> table_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace sluice
