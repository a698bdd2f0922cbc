#include "samplers/node_index.h"

#include <algorithm>
#include <bit>

namespace sluice {

Result<void> NodeIndex::build(std::span<const std::uint64_t> ids, MemoryLedger* ledger) {
  // At least half of the slots stay empty, so that a search ends soon.
  const std::size_t num_slots = std::bit_ceil(std::max<std::size_t>(2 * ids.size(), 16));
  if (auto room = slots_.ensure_exactly(num_slots, ledger); !room) return room;
  mask_ = num_slots - 1;
  shift_ = 64 - std::countr_zero(num_slots);
  std::fill_n(slots_.data(), num_slots, Slot{0, -1});
  for (std::size_t row = 0; row < ids.size(); ++row) {
    std::size_t at = slot_of(ids[row]);
    while (slots_.data()[at].row >= 0) at = (at + 1) & mask_;
    slots_.data()[at] = {ids[row], static_cast<std::int32_t>(row)};
  }
  return {};
}

}  // namespace sluice
