#include "samplers/timed_node_table.h"

#include "samplers/node_table.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sluice {

void TimedNodeTable::clear() {
  std::ranges::fill(slots_.first(num_slots_), 0u);
  size_ = 0;
}

Result<void> TimedNodeTable::reserve(std::size_t count, MemoryLedger* ledger) {
  const std::size_t rows = size_ + count;
  if (rows > NodeTable::kMaxRows) {
    return Error(
        ErrorCode::kResource,
        fmt::format("a mini-batch would hold up to {} nodes at times of one type; at most {} fit",
                    format_count(rows),
                    format_count(NodeTable::kMaxRows)),
        "lower the batch size or [sampler] count");
  }
  if (auto grown = nodes_.grow(rows, size_, ledger); !grown) return grown;
  if (auto grown = times_.grow(rows, size_, ledger); !grown) return grown;
  if (auto grown = events_.grow(rows, size_, ledger); !grown) return grown;
  if (2 * rows <= num_slots_) return {};
  // 0 meanwhile: after an error the next reserve() makes them anew, from the lists.
  num_slots_ = 0;
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(2 * rows, 64));
  if (auto made = slots_.ensure_exactly(slots, ledger); !made) return made;
  num_slots_ = slots;
  std::ranges::fill(slots_.first(num_slots_), 0u);
  for (std::size_t at = 0; at < size_; ++at)
    slots_.data()[slot_of(row(at))] = static_cast<std::uint32_t>(at) + 1;
  return {};
}

std::int32_t TimedNodeTable::insert(const TimedNode& key) {
  std::uint32_t& slot = slots_.data()[slot_of(key)];
  if (slot == 0) {
    nodes_.data()[size_] = key.node;
    times_.data()[size_] = key.time;
    events_.data()[size_] = key.event;
    slot = static_cast<std::uint32_t>(++size_);
  }
  return static_cast<std::int32_t>(slot - 1);
}

std::size_t TimedNodeTable::slot_of(const TimedNode& key) const {
  const std::size_t mask = num_slots_ - 1;
  std::uint64_t mixed = key.node;
  for (const std::uint64_t part : {static_cast<std::uint64_t>(key.time), key.event}) {
    mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93ull + part;
  }
  mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93ull;
  for (std::size_t at = (mixed ^ mixed >> 32) & mask;; at = (at + 1) & mask) {
    const std::uint32_t slot = slots_.data()[at];
    if (slot == 0 || row(slot - 1) == key) return at;
  }
}

}  // namespace sluice
