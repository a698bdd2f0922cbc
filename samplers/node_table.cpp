#include "samplers/node_table.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace sluice {

void NodeTable::clear() {
  empty_slots();
  size_ = 0;
  if (own_.data() == nullptr || ++stamp_ != 0) return;
  // The stamps have gone round: what older batches left would look new.
  std::memset(own_.data(), 0, own_.capacity() * sizeof(std::uint64_t));
  stamp_ = 1;
}

// A few rows of a table that was once full are taken out one by one: the newest first, so that no
// search for another ends too soon.
void NodeTable::empty_slots() {
  constexpr std::size_t kFew = 16;  // slots a row: emptied in order, one costs as much
  if (own_.data() != nullptr || size_ == 0 || num_slots_ == 0) return;
  if (size_ > num_slots_ / kFew) {
    std::memset(slots_.data(), 0, num_slots_ * sizeof(std::uint32_t));
    return;
  }
  for (std::size_t row = size_; row-- > 0;) {
    std::size_t at = home_of(ids_.data()[row]);
    while (row_of(slots_.data()[at]) != row) at = (at + 1) & mask_;
    slots_.data()[at] = 0;
  }
}

Result<void> NodeTable::reserve(std::size_t count, MemoryLedger* ledger) {
  const std::size_t rows = size_ + count;
  if (rows > kMaxRows) {
    return Error(ErrorCode::kResource,
                 fmt::format("a mini-batch would hold up to {} nodes of one type; at most {} fit",
                             format_count(rows),
                             format_count(kMaxRows)),
                 "lower the batch size or [sampler] fanout");
  }
  if (auto grown = ids_.grow(rows, size_, ledger); !grown) return grown;
  if (own_.data() != nullptr || (range_ != 0 && make_own_slots(ledger))) return {};
  if (2 * rows <= num_slots_) return {};
  return rebuild(std::bit_ceil(std::max<std::size_t>(2 * rows, 64)), ledger);
}

// Asked once: whether memory lets it must not change from batch to batch.
bool NodeTable::make_own_slots(MemoryLedger* ledger) {
  const std::uint64_t count = std::exchange(range_, 0);
  if (size_ != 0 || !own_.ensure_exactly(count, ledger)) return false;
  std::memset(own_.data(), 0, count * sizeof(std::uint64_t));
  stamp_ = 1;
  return true;
}

Result<void> NodeTable::rebuild(std::size_t num_slots, MemoryLedger* ledger) {
  // The list holds all there is to know, so the old slots can go before the new ones come: less
  // memory at the peak. num_slots_ is 0 meanwhile, so that a refused table is rebuilt at the next
  // reserve().
  slots_ = {};
  num_slots_ = 0;
  if (auto made = slots_.ensure_exactly(num_slots, ledger); !made) return made;
  num_slots_ = num_slots;
  mask_ = num_slots - 1;
  shift_ = 64 - std::countr_zero(num_slots);
  std::memset(slots_.data(), 0, num_slots * sizeof(std::uint32_t));
  const std::size_t rows = size_;
  size_ = 0;
  for (std::size_t row = 0; row < rows; ++row) insert(ids_.data()[row]);
  return {};
}

}  // namespace sluice
