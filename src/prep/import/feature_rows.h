// FeatureRows: the rows of a feature table, from matrices or from columns of numbers: as they are
// stored, or as f64 where they are to be scaled or filled. Private to src/prep/import.
#pragma once

#include "prep/features/feature_encoder.h"
#include "prep/import/import_context.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

class FeatureRows {
 public:
  enum class As { kStored, kReals };

  /// Opens the table and chooses its columns. Throws Error(kData) where they are no features.
  FeatureRows(ImportContext& context, const FeatureSpec& spec, const RowTarget& target, As as);

  std::uint32_t dim() const { return dim_; }
  /// Of the elements that next() gives.
  DType dtype() const { return dtype_; }
  /// As the file has them.
  DType source_dtype() const { return source_dtype_; }
  /// Whether the file has a sparse matrix.
  bool of_sparse_matrix() const { return sparse_; }
  const Place& place() const { return place_; }
  std::optional<std::uint64_t> num_rows() const { return table_->num_rows(); }
  /// "column 'age'", or "element 3" of a matrix.
  std::string name_of(std::uint32_t column) const;
  /// The names of columns that have some.
  std::vector<std::string> names() const;

  /// The next rows, row by row; false at the end. @param room f64 for what has to be put together
  bool next(FeatureEncoder& room);
  std::uint64_t first_row() const { return chunk_.first_row; }
  std::size_t num_rows_read() const { return chunk_.rows; }
  std::span<const std::byte> elements() const { return elements_; }
  /// The same as f64, to be changed in place. @pre As::kReals
  std::span<double> reals() const { return reals_; }

  /// Says that an element of the rows read last may not be stored.
  [[noreturn]] void refuse(std::size_t element, double value, DType stored) const;

 private:
  void choose_columns();
  void check_reals() const;

  const FeatureSpec& spec_;
  As as_;
  std::unique_ptr<TableReader> table_;
  Place place_;
  std::vector<ColumnRequest> requests_;
  bool sparse_ = false;
  bool matrix_ = false;  // one column, of `dim_` elements
  std::uint32_t dim_ = 0;
  DType dtype_ = DType::kF64, source_dtype_ = DType::kF64;
  TableChunk chunk_;
  std::span<const std::byte> elements_;
  std::span<double> reals_;
};

}  // namespace sluice
