// ArrayColumn: a column of an array file as it was asked for: a buffer that its reader fills with
// rows as they are stored, and the values that they are. Used by one thread; its table outlives it.
#pragma once

#include "prep/table/table_reader.h"
#include "storage/io/aligned_buffer.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

/// Throws Error(kData) where a column of stored fractions is asked for texts or integers, or one of
/// truth values for ids.
void check_number_request(const TableReader& table,
                          const ColumnInfo& column,
                          const ColumnRequest& request);

class ArrayColumn {
 public:
  /// Charges the buffers of chunks of up to `chunk_rows` to `ledger` as `name`; throws as
  /// check_number_request. @pre column.dtype
  ArrayColumn(const TableReader& table,
              const ColumnInfo& column,
              const ColumnRequest& request,
              std::uint64_t chunk_rows,
              MemoryLedger* ledger,
              std::string_view name);

  const ColumnInfo& info() const { return column_; }
  std::uint64_t row_bytes() const { return row_bytes_; }
  /// Where the rows of a chunk go, one behind the other, as they are stored.
  std::span<std::byte> stored(std::size_t rows) { return stored_.bytes().first(rows * row_bytes_); }
  /// The values of those rows; valid until stored() is written to again. Throws where an integer is
  /// beyond int64. @param first_row of the chunk, for messages
  ColumnValues values(std::uint64_t first_row, std::size_t rows);

 private:
  void check_range(std::uint64_t first_row, std::size_t count) const;
  TextValues decimals(std::size_t count);

  const TableReader* table_;
  ColumnInfo column_;
  ColumnType type_;
  ColumnUse use_;
  std::uint64_t row_bytes_;
  AlignedBuffer stored_;
  AlignedBuffer converted_;  // as int64 or f64; of texts the offsets
  AlignedBuffer texts_;      // the digits of texts
};

/// The request for the only column of a table; throws Error(kData) where it is asked for twice, as
/// ids and as labels, say.
const ColumnRequest& only_request(const TableReader& table,
                                  const std::vector<ColumnRequest>& requests);

/// Rows of a chunk that holds about 4 MiB as they are stored; at least one.
std::uint64_t array_chunk_rows(std::uint64_t row_bytes, std::uint64_t rows);

}  // namespace sluice
