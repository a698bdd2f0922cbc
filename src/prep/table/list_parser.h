// ListParser: the fast path over a block of an edge list: one pass over the text, no allocation a
// line, integers by a loop of our own. Which columns are read, and how, is settled before.
//
// Immutable once made, so several threads may parse with one. It stops at the first line that it
// cannot read and leaves it to diagnose_list_line() to say why. By strict rules that is any line
// that is not fields without quotes, those asked for plain numbers: CsvReader then asks Arrow.
#pragma once

#include "prep/table/list_text.h"
#include "storage/io/aligned_buffer.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice {

/// The values of the requested columns in one block. Keeps its memory from block to block.
class ListColumns {
 public:
  /// Room for as many rows of as many columns. @param text_bytes the most that a column of texts
  /// may hold
  void reserve(const std::vector<ColumnRequest>& requests,
               std::size_t rows,
               std::size_t text_bytes,
               MemoryLedger* ledger);
  ColumnValues view(std::size_t column, ColumnType type, std::size_t rows) const;

 private:
  friend class ListParser;
  struct Column {
    AlignedBuffer values;  // i64, f64, or the offsets of texts
    AlignedBuffer bytes;   // of texts
  };
  std::vector<Column> columns_;
};

class ListParser {
 public:
  /// @param layout complete, and outlives the parser
  explicit ListParser(const ListLayout& layout);

  struct Parsed {
    std::size_t rows = 0;
    std::optional<std::size_t> fault;  ///< offset of the line that cannot be read
  };
  /// Room for the rows of so much text, and for one that is at fault.
  std::size_t max_rows(std::size_t lines, std::size_t bytes) const;

  /// @param block ends with a line end. @pre `columns` has room for max_rows() of it
  Parsed parse(std::string_view block, ListColumns& columns) const;

 private:
  struct Slot;
  const char* parse_line(const char* at, std::vector<Slot>& slots, std::size_t& rows) const;
  const char* parse_row(const char* at, std::vector<Slot>& slots, std::size_t row) const;
  const char* parse_field(const char* begin, Slot& slot, std::size_t row) const;
  const char* parse_number_slowly(const char* begin, Slot& slot, std::size_t row) const;
  const char* parse_text(const char* begin, Slot& slot, std::size_t row) const;
  const char* field_end(const char* at) const;

  using Characters = std::array<bool, 256>;
  const ListLayout& layout_;
  std::vector<std::size_t> order_;  // requests by the position of their column
  std::vector<std::size_t> first_;  // by column, and one behind: where its requests begin in order_
  Characters ends_{};               // a field
  Characters blank_{};              // around fields and lines
  Characters comment_{};            // a line that begins so
};

}  // namespace sluice
