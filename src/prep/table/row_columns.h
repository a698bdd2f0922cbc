// RowColumns: rows put together one value after the other, for readers that make them so; a chunk
// at a time. Memory is charged to the ledger. Used by one thread.
#pragma once

#include "prep/table/table_values.h"

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

class RowColumns {
 public:
  /// @param columns those there are; values of columns that are not asked for are dropped
  RowColumns(const std::vector<ColumnInfo>& columns,
             const std::vector<ColumnRequest>& requests,
             MemoryLedger& ledger);

  /// The value of one column in the row that is being made.
  void put(std::size_t column, std::int64_t value);
  /// The same from text. Throws Error(kData) where it is not what was asked for.
  void put_cell(std::size_t column, std::string_view text, const Place& place);
  /// Ends the row. @pre each column was put once @param line where it stands, for messages
  void end_row(std::int64_t line) { lines_.push_back(line); }

  bool full() const { return lines_.size() >= kRows; }
  std::size_t rows() const { return lines_.size(); }
  std::int64_t line_of(std::size_t row) const { return lines_[row]; }
  /// Views of the rows, valid until clear().
  void view(TableChunk& chunk) const;
  void clear();

 private:
  static constexpr std::size_t kRows = 1 << 16;

  struct Column {
    ColumnRequest request;
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    std::vector<std::int32_t> offsets;
    std::vector<char> bytes;
  };

  void put_text(Column& column, std::string_view text);

  Charge charge_;
  std::vector<Column> columns_;                 // by request
  std::vector<std::vector<std::size_t>> into_;  // by column: the requests it goes to
  std::vector<std::int64_t> lines_;
};

}  // namespace sluice
