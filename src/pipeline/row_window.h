// RowWindow: the distinct feature rows of one node type that a window of mini-batches needs, each
// once, in memory.
//
// Rows that the window before holds are copied from there, the rest is read from the store in one
// gather: so a row is read once for all mini-batches of a window. Immutable once filled;
// thread-safe then.
#pragma once

#include "pipeline/row_index.h"

#include <sluice/array.h>
#include <sluice/feature_store.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

class RowWindow {
 public:
  /// @param max_rows at least the distinct ids that will be added
  RowWindow(std::size_t row_bytes, std::uint64_t max_rows, MemoryLedger& ledger)
      : row_bytes_(row_bytes), ledger_(ledger), index_(max_rows, ledger) {}

  void add(std::span<const std::uint64_t> ids) {
    for (const std::uint64_t id : ids) (void)index_.insert(id);
  }

  /// How many of distinct `ids` are not in yet.
  std::uint64_t count_new(std::span<const std::uint64_t> ids) const {
    std::uint64_t fresh = 0;
    for (const std::uint64_t id : ids) fresh += index_.find(id) == RowIndex::kNone ? 1u : 0u;
    return fresh;
  }

  /// Fills in all rows added; `before` may be null. Throws Error.
  void fetch(FeatureStore& store, const RowWindow* before);

  std::uint64_t rows() const { return index_.ids().size(); }
  std::uint64_t reused() const { return reused_; }

  /// The row of an id that was added.
  const std::byte* row(std::uint64_t id) const {
    return table_.raw().data() + std::size_t{place_[index_.find(id)]} * row_bytes_;
  }

 private:
  std::size_t row_bytes_;
  MemoryLedger& ledger_;
  RowIndex index_;
  Charge place_charge_;
  std::vector<std::uint32_t>
      place_;  // row of the table, by the index's number: reused rows first, then those read
  Array table_;
  std::uint64_t reused_ = 0;
};

}  // namespace sluice
