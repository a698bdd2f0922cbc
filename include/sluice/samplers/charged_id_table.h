// ChargedIdTable: an IdTable whose slots are charged and grow with its rows; they are kept for the
// next batch. Not thread-safe.
#pragma once

#include <sluice/samplers/charged_buffer.h>
#include <sluice/samplers/id_table.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

class ChargedIdTable final : public IdTable {
 public:
  /// Slots for so many rows in all, of which `listed` are there. Errors: kResource; there are no
  /// slots then, and the next reserve() makes them anew.
  template <class HashAt>
  Result<void> reserve(std::size_t rows,
                       std::size_t listed,
                       MemoryLedger* ledger,
                       const HashAt& hash_at) {
    if (2 * rows <= num_slots()) return {};
    return build(rows, listed, ledger, hash_at);
  }

  /// As many slots as so many rows need, and no more, whatever there was. Errors: as above.
  template <class HashAt>
  Result<void> build(std::size_t rows,
                     std::size_t listed,
                     MemoryLedger* ledger,
                     const HashAt& hash_at) {
    // The rows hold all there is to know, so the old slots can go before the new ones come: less
    // memory at the peak.
    IdTable::operator=(IdTable());
    const std::size_t slots = slots_for(rows);
    if (auto made = memory_.ensure_exactly(slots, ledger); !made) return made;
    std::memset(memory_.data(), 0, slots * sizeof(std::uint32_t));
    IdTable::operator=(IdTable(memory_.first(slots)));
    fill(listed, hash_at);
    return {};
  }

  std::uint64_t workspace_bytes() const { return workspace_of(memory_); }

 private:
  ChargedBuffer<std::uint32_t> memory_;
};

}  // namespace sluice
