// TimedNodeTable: gives nodes at times, of one type, their rows in a batch, in order of first
// appearance. As NodeTable, for batches with times.
//
// A row is a node, a time and, where answers depend on it, the event that it was met by. An IdTable
// beside the three lists; all is kept for the next batch. Used by the temporal neighbour sampler
// and by queries of links. Not thread-safe.
#pragma once

#include <sluice/samplers/charged_buffer.h>
#include <sluice/samplers/charged_id_table.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

struct TimedNode {
  std::uint64_t node = 0;
  std::int64_t time = 0;
  std::uint64_t event = 0;  ///< edge id; 0 where it makes no difference

  bool operator==(const TimedNode&) const = default;
};

class TimedNodeTable {
 public:
  /// Forgets all rows.
  void clear();
  /// Makes room for `count` more rows. Errors: kResource, from the ledger or beyond 2^31 - 1 rows;
  /// rows may then be inserted only after a reserve() that succeeds.
  Result<void> reserve(std::size_t count, MemoryLedger* ledger);
  /// The row, a new one when it is not listed yet. @pre room was reserved
  std::int32_t insert(const TimedNode& key);

  std::size_t size() const noexcept { return size_; }
  std::uint64_t workspace_bytes() const { return workspace_of(hashed_, nodes_, times_, events_); }
  // By row; valid until the next reserve().
  std::span<const std::uint64_t> nodes() const { return nodes_.first(size_); }
  std::span<const std::int64_t> times() const { return times_.first(size_); }
  std::span<const std::uint64_t> events() const { return events_.first(size_); }

 private:
  TimedNode row(std::size_t at) const {
    return {nodes_.data()[at], times_.data()[at], events_.data()[at]};
  }
  static std::uint64_t hash_of(const TimedNode& key);
  auto hash_at() const {
    return [this](std::size_t at) { return hash_of(row(at)); };
  }

  ChargedIdTable hashed_;
  ChargedBuffer<std::uint64_t> nodes_;
  ChargedBuffer<std::int64_t> times_;
  ChargedBuffer<std::uint64_t> events_;
  std::size_t size_ = 0;
};

}  // namespace sluice
