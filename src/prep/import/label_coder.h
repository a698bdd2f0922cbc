// LabelCoder: label values of a table, checked and in the dataset's form. Private to
// src/prep/import.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/import/label_values.h"
#include "prep/import/rounded_numbers.h"
#include "prep/table/table_reader.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice {

/// Bytes of a node's labels as stored.
std::size_t label_row_bytes(const LabelSchema& schema);
/// A node without a label.
void write_missing_label(const LabelSchema& schema, std::span<std::byte> row);

/// Numbers in the order of numbers, else texts in that of their bytes; each once.
void sort_label_names(std::vector<std::string>& names);

class LabelCoder {
 public:
  /// Decides kind and width from the spec and the file's columns. Throws Error(kData) where they do
  /// not go together. @param names of the classes, in their order, for labels by name
  LabelCoder(const TableReader& table,
             const LabelSpec& spec,
             const std::vector<std::string>& names = {});

  /// The label's columns to ask of the table.
  const std::vector<ColumnRequest>& requests() const { return requests_; }
  std::size_t row_bytes() const;
  LabelKind kind() const { return kind_; }
  /// Values a row.
  std::uint32_t width() const { return width_; }
  /// Whether what was encoded, or the spec, says how many classes there are.
  bool any() const { return kind_ != LabelKind::kClass || classes_ != 0 || largest_ >= 0; }
  /// Bytes of a row without a label.
  void write_missing(std::span<std::byte> row) const;
  /// The name of a class as a row says it; empty: it has no label.
  std::string name(const ColumnValues& values, std::size_t row);
  /// Encodes a row of the chunk, whose label columns begin at `first_column`; false when the row
  /// has no label.
  bool encode(const TableChunk& chunk,
              std::size_t first_column,
              std::size_t row,
              std::span<std::byte> out);

  /// @pre at least one row was encoded
  LabelSchema schema() const;

  /// Rows whose value is one of labels.none.
  std::uint64_t none_rows() const { return none_rows_; }
  /// Rows whose class is written as -1, which is no label.
  std::uint64_t minus_ones() const { return minus_ones_; }
  /// Whether labels of several values a row are one 1 and else 0 in each, as one class a row is.
  bool one_hot() const { return width_ > 1 && rows_ > 1 && one_hot_rows_ == rows_; }
  /// What became of numbers to predict, a sentence; empty: nothing.
  std::string rounding() const { return rounded_.remark("targets"); }
  /// Which classes occurred, where they are numbers that nobody counted beforehand.
  const ClassCount& classes_seen() const { return seen_; }

 private:
  void choose_requests(const LabelSpec& spec, const std::vector<ColumnInfo>& columns);
  std::vector<std::string> column_names() const;
  bool is_none(const ColumnValues& values, std::size_t at) const;
  double number(const TableChunk& chunk,
                std::size_t first_column,
                std::size_t row,
                std::uint32_t element);
  std::int64_t class_of(const TableChunk& chunk, std::size_t first_column, std::size_t row);
  std::int64_t integer(const TableChunk& chunk,
                       std::size_t first_column,
                       std::size_t row,
                       std::uint32_t element) const;
  [[noreturn]] void fail(const TableChunk& chunk,
                         std::size_t row,
                         std::uint32_t element,
                         const std::string& reason,
                         const std::string& hint) const;
  bool encode_name(const TableChunk& chunk,
                   std::size_t first_column,
                   std::size_t row,
                   std::span<std::byte> out);
  bool encode_class(const TableChunk& chunk,
                    std::size_t first_column,
                    std::size_t row,
                    std::span<std::byte> out);
  bool encode_bits(const TableChunk& chunk,
                   std::size_t first_column,
                   std::size_t row,
                   std::span<std::byte> out);
  void take_one_hot(std::uint32_t ones, std::uint32_t zeros) {
    ++rows_;
    one_hot_rows_ += ones == 1 && ones + zeros == width_ ? 1 : 0;
  }
  bool encode_targets(const TableChunk& chunk,
                      std::size_t first_column,
                      std::size_t row,
                      std::span<std::byte> out);

  const TableReader& table_;
  std::vector<std::string> names_;  // of the classes, where labels are names
  std::unordered_map<std::string_view, std::int32_t> classes_by_name_;
  LabelKind kind_ = LabelKind::kClass;
  bool matrix_ = false;      // one column of `width_` elements, not `width_` columns
  std::uint32_t width_ = 1;  // values a row
  std::int64_t classes_;     // as stated; 0: counted
  std::int64_t largest_ = -1;
  NoLabelValues none_;
  std::uint64_t none_rows_ = 0;
  std::uint64_t minus_ones_ = 0;
  std::uint64_t rows_ = 0, one_hot_rows_ = 0;  // of labels of several values
  ClassCount seen_;
  RoundedAmount rounded_;
  std::vector<ColumnRequest> requests_;
};

}  // namespace sluice
