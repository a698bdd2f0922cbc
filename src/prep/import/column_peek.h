// A look at the first values of a column, for those who have to tell what it is. Private to
// src/prep.
#pragma once

#include "prep/table/table_reader.h"

#include <cstdint>
#include <string>

namespace sluice {

struct ColumnPeek {
  std::uint64_t rows = 0;  ///< that were looked at
  bool different = true;   ///< no value stands twice
  bool whole = true;       ///< all are whole numbers
  bool numbers = true;
  bool counts_up = true;  ///< each is one more than the one before
  std::int64_t first = 0;
};

/// @param table opened, and not read yet @param rows the most to look at
ColumnPeek peek_at(TableReader& table, const std::string& column, std::uint64_t rows);

}  // namespace sluice
