// SlotTable: the bytes of a row cache's slots, which a RowDirectory gives to rows. Memory is taken
// and charged for as many of the first slots as were asked for; it may be given back and come
// again. One thread fills slots; row() may be called by others for rows that are there.
#pragma once

#include "core/pages_ahead.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sluice {

class SlotTable {
 public:
  /// All of it, charged as "feature cache". @param device that reads rows from the slots too, or
  /// null. Throws kResource.
  SlotTable(std::size_t row_bytes,
            std::uint32_t slots,
            std::shared_ptr<HostPinning> device,
            MemoryLedger* ledger);

  static std::uint64_t bytes_of(std::uint64_t slots, std::size_t row_bytes) {
    return round_up_to_page(slots * row_bytes);
  }

  std::size_t row_bytes() const { return row_bytes_; }
  std::uint32_t slots() const { return slots_; }
  const std::byte* row(std::uint32_t slot) const {
    return data_.data() + std::size_t{slot} * row_bytes_;
  }

  /// All slots' bytes, slot after slot. Throws kResource where they were given back and there is no
  /// room for them now.
  std::span<std::byte> all() { return first(slots_); }
  /// As above, of the first slots alone: no memory is taken for the others.
  std::span<std::byte> first(std::uint32_t slots);
  /// Rows go to the first slots from here on: makes their pages on threads of their own, of a large
  /// table that is there. May be called beside other calls.
  void expect_rows(std::uint32_t slots) const;
  /// Gives back the memory of all slots but the first ones, and what is in those is lost, until
  /// they are asked for again. A device's table stays whole or goes.
  void keep_first(std::uint32_t kept);

  /// Memory that slots have now, bytes.
  std::uint64_t held_bytes() const { return held_; }
  /// Whether the device may read rows where they are.
  bool pinned() const { return data_.pinned(); }

 private:
  std::size_t row_bytes_;
  std::uint32_t slots_;
  std::shared_ptr<HostPinning> device_;
  MemoryLedger* ledger_;
  AlignedBuffer data_;  // mapped whole; slots that were never asked for take no memory
  std::unique_ptr<PagesAhead> pages_;  // of the slots that were, if they are many
  Charge charge_;                      // of the slots that were
  std::uint64_t held_ = 0;             // bytes of them
};

}  // namespace sluice
