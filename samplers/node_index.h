// NodeIndex: the rows of nodes that are listed, without listing more. A NodeTable gives rows to
// whatever it is asked for; this says which nodes have one.
//
// An open-addressing hash table made from a list of ids, rebuilt for each batch in memory that is
// kept. Not thread-safe to build, thread-safe to ask.
#pragma once

#include "samplers/charged_buffer.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class NodeIndex {
 public:
  /// Row i is ids[i]. Errors: kResource. @pre ids are distinct, at most NodeTable::kMaxRows
  Result<void> build(std::span<const std::uint64_t> ids, MemoryLedger* ledger);

  /// The node's row, or -1.
  std::int32_t find(std::uint64_t id) const {
    for (std::size_t at = slot_of(id);; at = (at + 1) & mask_) {
      const Slot& slot = slots_.data()[at];
      if (slot.row < 0 || slot.id == id) return slot.row;
    }
  }

  std::uint64_t workspace_bytes() const { return workspace_of(slots_); }
  /// Starts loading the slot that find(id) will look at.
  void prefetch(std::uint64_t id) const { __builtin_prefetch(slots_.data() + slot_of(id)); }

 private:
  struct Slot {
    std::uint64_t id;
    std::int32_t row;  // -1: empty
  };

  std::size_t slot_of(std::uint64_t id) const {
    return ((id ^ (id >> 32)) * 0xd6e8feb86659fd93ull) >> shift_;
  }

  ChargedBuffer<Slot> slots_;
  std::size_t mask_ = 0;
  int shift_ = 63;
};

}  // namespace sluice
