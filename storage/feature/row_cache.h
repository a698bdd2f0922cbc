// RowCache: rows of one feature table held in memory, in a fixed number of slots: a directory that
// says which slot has which row, and the table with the rows' bytes. What becomes of the two goes
// its own ways: plans take the directory, those who read and copy rows the table.
#pragma once

#include "storage/feature/row_directory.h"
#include "storage/feature/slot_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace sluice {

struct RowCache {
  struct Options {
    std::size_t row_bytes = 0;
    std::uint32_t slots = 0;
    std::uint64_t table_rows = 0;                   ///< as RowDirectory takes it
    std::shared_ptr<HostPinning> device = nullptr;  ///< as SlotTable takes it
  };

  /// Throws kResource.
  RowCache(const Options& options, std::unique_ptr<CachePolicy> policy, MemoryLedger* ledger)
      : directory(options.slots, options.table_rows, std::move(policy), ledger),
        table(options.row_bytes, options.slots, options.device, ledger) {}

  static constexpr std::uint64_t kMaxSlots = SlotIndex::kNoSlot - 1;

  /// All that so many slots take, and the slots that fit so many bytes; without
  /// Options::table_rows.
  static std::uint64_t bytes_of(std::uint64_t slots, std::size_t row_bytes) {
    return SlotTable::bytes_of(slots, row_bytes) + RowDirectory::bytes_of(slots);
  }
  static std::uint64_t slots_in(std::uint64_t bytes, std::size_t row_bytes) {
    std::uint64_t low = 0;
    std::uint64_t high = bytes / std::max<std::size_t>(row_bytes, 1) + 1;
    while (low + 1 < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      (bytes_of(middle, row_bytes) <= bytes ? low : high) = middle;
    }
    return low;
  }

  /// Forgets all rows and gives back the memory of all slots but the first `kept`.
  void forget_rows(std::uint32_t kept) {
    directory.clear();
    table.keep_first(kept);
  }

  RowDirectory directory;
  SlotTable table;
};

}  // namespace sluice
