// ArrowColumn: a column of Arrow arrays as it was asked for: int64, f64, texts or stored bytes.
// Arrays are checked, so they may come from damaged files. Columns are independent of each other:
// several threads may convert one each.
#pragma once

#include "prep/table/arrow_source.h"
#include "prep/table/table_reader.h"

#include <arrow/buffer_builder.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// How a field is seen: the dtype of its numbers (bool as u8, 16-bit integers as i32; of timestamps
/// and dates the integer that is stored) and how many a row. A list of no fixed size has width 0
/// here: list_width() knows it from a row.
ColumnInfo arrow_column_info(const arrow::Field& field);
bool is_open_list(const arrow::DataType& type);
/// Numbers a row of an open list by its first row that is not missing.
std::optional<std::uint32_t> list_width(const arrow::Array& lists);

class ArrowColumn {
 public:
  /// Throws Error(kData) where such a column cannot be asked for so. The table outlives the column.
  ArrowColumn(const TableReader& table,
              const arrow::DataType& type,
              ColumnInfo info,
              ColumnRequest request,
              LedgerMemoryPool& pool,
              const ArrowFaults& faults);

  /// The values of `array`; valid until convert() or release(). @param first_row of it in the table
  ColumnValues convert(std::shared_ptr<arrow::Array> array, std::uint64_t first_row);
  void release() { held_.reset(); }

 private:
  struct Run {  // rows side by side whose numbers are
    std::size_t row = 0, rows = 0;
    std::int64_t element = 0;
  };

  ColumnValues numbers(const arrow::Array& array);
  std::vector<Run> find_runs(const arrow::Array& array) const;
  template <class List>
  std::vector<Run> list_runs(const List& lists) const;
  const std::byte* stored(const arrow::Array& elements, std::int64_t begin, std::int64_t count);
  void convert_run(const arrow::Array& elements, const Run& run, std::span<std::byte> out);
  void check_range(const arrow::Array& elements, const Run& run, const std::byte* values) const;
  void fill_missing(std::span<std::byte> out, std::size_t first, std::size_t count) const;
  ColumnValues view_of(std::span<const std::byte> values) const;

  static std::shared_ptr<arrow::Array> elements_of(const arrow::Array& array);
  ColumnValues texts(const arrow::Array& array);
  ColumnValues texts_of_lists(const arrow::Array& array);
  ColumnValues build_texts(const arrow::Array& array);
  void check_texts(const arrow::Array& array) const;
  void check_dictionary(const arrow::Array& array);

  [[noreturn]] void fail_missing(std::size_t row, std::size_t element) const;
  [[noreturn]] void fail_damaged(std::size_t row, const std::string& reason) const;
  Error error(std::size_t row, const std::string& reason, const std::string& hint) const;
  std::size_t element_bytes() const;
  std::span<std::byte> room(std::shared_ptr<arrow::ResizableBuffer>& buffer, std::size_t bytes);

  const TableReader& table_;
  ColumnInfo info_;
  ColumnRequest request_;
  LedgerMemoryPool& pool_;
  const ArrowFaults& faults_;
  std::uint64_t first_row_ = 0;
  std::shared_ptr<arrow::Array> held_;        // what views point into
  std::shared_ptr<arrow::Array> dictionary_;  // the one that was checked last
  std::shared_ptr<arrow::ResizableBuffer> values_, widened_;
  std::shared_ptr<arrow::Buffer> text_offsets_, text_bytes_;
};

}  // namespace sluice
