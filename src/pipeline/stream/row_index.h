// RowIndex: numbers distinct row ids in order of first appearance: an IdTable of a fixed size, all
// charged when it is made. Not thread-safe; lookups may run side by side.
#pragma once

#include <sluice/memory.h>
#include <sluice/samplers/id_table.h>

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
    slots_.resize(slots);
    table_ = IdTable(slots_);
    ids_.reserve(ids);
  }

  /// The number of `id`, which is new when it was not there; kNone when there is no room for it.
  std::uint32_t insert(std::uint64_t id) {
    if (ids_.size() == room_) return find(id);
    return static_cast<std::uint32_t>(table_.insert(
        IdTable::hash_of(id),
        [this, id](std::size_t row) { return ids_[row] == id; },
        [this, id] {
          ids_.push_back(id);
          return ids_.size() - 1;
        }));
  }

  /// Numbers many ids: out[i] is that of ids[i]. Returns how many it came to: fewer than all where
  /// one more would be new beyond `most`. @pre most <= the room
  std::size_t insert_all(std::span<const std::uint64_t> ids,
                         std::uint64_t most,
                         std::span<std::uint32_t> out) {
    constexpr std::size_t kAhead = 16;  // each id is two misses of the processor's cache
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i + 2 * kAhead < ids.size()) table_.prefetch(IdTable::hash_of(ids[i + 2 * kAhead]));
      if (i + kAhead < ids.size()) {
        const std::size_t row = table_.guess(IdTable::hash_of(ids[i + kAhead]));
        if (row != IdTable::kNoRow) __builtin_prefetch(ids_.data() + row);
      }
      out[i] = insert(ids[i]);
      if (out[i] == kNone || ids_.size() > most) return i;
    }
    return ids.size();
  }

  /// Takes the newest ids out again until `size` are left. @pre there are as many
  void truncate(std::size_t size) {
    table_.shrink(ids_.size(), size, IdTable::hash_at(ids_));
    ids_.resize(size);
  }

  /// The number of `id`, or kNone.
  std::uint32_t find(std::uint64_t id) const {
    return static_cast<std::uint32_t>(table_.find_id(id, ids_));
  }

  std::size_t size() const { return ids_.size(); }
  /// The ids by number.
  std::span<const std::uint64_t> ids() const { return ids_; }

 private:
  Charge charge_;
  std::uint64_t room_;
  std::vector<std::uint32_t> slots_;
  IdTable table_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace sluice
