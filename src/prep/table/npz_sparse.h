// A matrix that scipy.sparse.save_npz wrote, or whose parts stand among other arrays ("adj_data",
// "adj_indices", "adj_indptr", "adj_shape"), seen as a table of its entries: "row", "col" and
// "data". Streamed: csr and csc expand their pointers on the way. By its rows it is read in
// npz_sparse_rows.h.
#pragma once

#include "prep/table/npz_arrays.h"
#include "prep/table/table_reader.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

class NpzSparse {
 public:
  /// What a file's arrays are, where they are a matrix and nothing else, or the matrix among them
  /// that `source` names as its table; throws Error(kData) for a format that has no entries one by
  /// one, and where the parts do not fit; Error(kUsage) where there is no such matrix. What is
  /// referred to outlives this.
  static std::optional<NpzSparse> find(const ZipArchive& archive,
                                       const std::vector<NpzArray>& arrays,
                                       const TableSource& source);

  /// "row", "col", and "data" where it is of numbers.
  const std::vector<ColumnInfo>& columns() const { return columns_; }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t rows() const { return shape_[0]; }
  /// What its rows are, zeros and all. Throws Error(kData) where they cannot be read so.
  ColumnInfo row_column() const;
  /// Whether the entries come row by row.
  bool by_rows() const { return format_ == Format::kCsr; }
  /// Errors of values name an entry of `table`. @param index of columns()
  std::unique_ptr<NpzColumn> open(std::size_t index, const TableReader& table) const;

 private:
  enum class Format { kCsr, kCsc, kCoo };

  NpzSparse(const ZipArchive& archive, std::string file)
      : archive_(&archive), file_(std::move(file)) {}
  void set_format(const std::string& name);
  void tell_format(const std::vector<NpzArray>& arrays);
  void set_parts(const std::vector<NpzArray>& arrays);
  void check_part(const NpzArray& part, std::uint64_t length) const;
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const;

  const ZipArchive* archive_;
  std::string file_;
  std::string prefix_;  // of the names of its parts
  Format format_ = Format::kCoo;
  std::uint64_t shape_[2] = {0, 0};
  std::uint64_t entries_ = 0;
  const NpzArray* index_[2] = {nullptr, nullptr};  // of rows and columns; null: by the pointers
  const NpzArray* pointers_ = nullptr;
  const NpzArray* data_ = nullptr;
  std::vector<ColumnInfo> columns_;
};

/// Matrices whose parts stand among other arrays, by what the names of their parts begin with.
class NpzSparseParts {
 public:
  explicit NpzSparseParts(const std::vector<NpzArray>& arrays);

  bool any() const { return !prefixes_.empty(); }
  /// Whether it is a part of one of them; with pointers alone: one that is no list of entries.
  bool has(const std::string& array) const;
  bool has_pointers(const std::string& array) const;
  /// What the matrix that a user calls `name` begins its parts with.
  std::optional<std::string> prefix_of(const std::string& name) const;
  /// What users call them: "adj". One whose parts have no prefix has no name.
  std::vector<std::string> names() const;

 private:
  std::vector<std::string> prefixes_;  // "adj_"
  std::vector<bool> pointers_;         // whether it has indices and indptr
};

}  // namespace sluice
