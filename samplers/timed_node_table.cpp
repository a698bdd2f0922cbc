#include "samplers/timed_node_table.h"

#include <sluice/samplers/node_table.h>
#include <sluice/units.h>

#include <fmt/format.h>

namespace sluice {

void TimedNodeTable::clear() {
  hashed_.shrink(size_, 0, hash_at());
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
  return hashed_.reserve(rows, size_, ledger, hash_at());
}

std::int32_t TimedNodeTable::insert(const TimedNode& key) {
  return static_cast<std::int32_t>(hashed_.insert(
      hash_of(key),
      [&](std::size_t at) { return row(at) == key; },
      [&] {
        nodes_.data()[size_] = key.node;
        times_.data()[size_] = key.time;
        events_.data()[size_] = key.event;
        return size_++;
      }));
}

std::uint64_t TimedNodeTable::hash_of(const TimedNode& key) {
  std::uint64_t mixed = key.node;
  for (const std::uint64_t part : {static_cast<std::uint64_t>(key.time), key.event})
    mixed = IdTable::hash_of(mixed) + part;
  return IdTable::hash_of(mixed);
}

}  // namespace sluice
