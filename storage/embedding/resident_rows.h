// ResidentRows: the rows of an embedding table that are in memory, as the table's user sees them:
// where a row lies, which job brings it, and which rows are not on disk as they are here.
#pragma once

#include "storage/embedding/group_sweep.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// A row in memory. Nothing: at is null.
struct ResidentRow {
  float* at = nullptr;
  std::uint64_t job = 0;  ///< of the JobQueue; once it is done the row is there
};

class ResidentRows {
 public:
  virtual ~ResidentRows() = default;

  /// A row that may be asked for now.
  virtual ResidentRow find(std::uint64_t row) const = 0;
  /// One that is here, whether it may be asked for or not.
  virtual ResidentRow find_any(std::uint64_t row) const = 0;
  /// The row, which find() gave, is about to change.
  virtual void mark_dirty(std::uint64_t row) = 0;
  /// Why a row may not be asked for now.
  virtual Error not_here(std::uint64_t row) const = 0;

  /// Appends the dirty rows of [first, end), ascending. They stay dirty.
  virtual void list_dirty(std::uint64_t first,
                          std::uint64_t end,
                          std::vector<RowMove>& dirty) const = 0;
  /// All rows are on disk as they are here.
  virtual void mark_clean() = 0;

  /// The table has more rows. Throws kUsage where it cannot grow now.
  virtual void grow(const RowLayout& layout) = 0;
};

}  // namespace sluice
