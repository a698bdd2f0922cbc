// NodeTable: gives the nodes of one type their rows in a batch, in order of first appearance.
//
// An open-addressing hash table beside the list of ids. It is emptied in constant time (slots carry
// the stamp of the batch that filled them) and keeps its memory for the next batch. Not
// thread-safe.
#pragma once

#include "samplers/charged_buffer.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class NodeTable {
 public:
  /// Rows are 32-bit within a batch.
  static constexpr std::size_t kMaxRows = 0x7fffffff;

  /// Forgets all nodes.
  void clear();

  /// Makes room for `count` more nodes. Errors: kResource, from the ledger or beyond kMaxRows;
  /// nodes may then be inserted only after a reserve() that succeeds.
  Result<void> reserve(std::size_t count, MemoryLedger* ledger);

  /// The row of `id`, a new one when it is not listed yet. @pre room was reserved
  std::int32_t insert(std::uint64_t id) {
    for (std::size_t at = slot_of(id);; at = (at + 1) & mask_) {
      Slot& slot = slots_.data()[at];
      if (slot.stamp != stamp_) {
        const auto row = static_cast<std::int32_t>(size_);
        slot = {id, stamp_, row};
        ids_.data()[size_++] = id;
        return row;
      }
      if (slot.id == id) return slot.row;
    }
  }

  /// Starts loading the slot that insert(id) will look at. @pre room was reserved
  void prefetch(std::uint64_t id) const { __builtin_prefetch(slots_.data() + slot_of(id), 1); }

  std::size_t size() const noexcept { return size_; }
  /// All ids by row; valid until the next reserve().
  std::span<const std::uint64_t> ids() const { return ids_.first(size_); }

 private:
  struct Slot {
    std::uint64_t id;
    std::uint32_t stamp;  // in use when it is the table's
    std::int32_t row;
  };

  std::size_t slot_of(std::uint64_t id) const {
    return ((id ^ (id >> 32)) * 0xd6e8feb86659fd93ull) >> shift_;
  }
  Result<void> rebuild(std::size_t num_slots, MemoryLedger* ledger);

  ChargedBuffer<Slot> slots_;
  ChargedBuffer<std::uint64_t> ids_;
  std::size_t num_slots_ = 0;  // a power of two, at least twice the rows
  std::size_t mask_ = 0;
  int shift_ = 63;
  std::size_t size_ = 0;
  std::uint32_t stamp_ = 1;  // 0: never used
};

}  // namespace sluice
