// A matrix that scipy.sparse.save_npz wrote, seen as a table of its entries: "row", "col" and
// "data". Streamed: csr and csc expand their pointers on the way.
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
  /// What a file's arrays are, where they are a matrix and nothing else; throws Error(kData) for a
  /// format that has no entries one by one, and where the parts do not fit. What is referred to
  /// outlives this.
  static std::optional<NpzSparse> find(const ZipArchive& archive,
                                       const std::vector<NpzArray>& arrays,
                                       const std::string& file);

  /// "row", "col", and "data" where it is of numbers.
  const std::vector<ColumnInfo>& columns() const { return columns_; }
  std::uint64_t entries() const { return entries_; }
  /// Errors of values name an entry of `table`. @param index of columns()
  std::unique_ptr<NpzColumn> open(std::size_t index, const TableReader& table) const;

 private:
  enum class Format { kCsr, kCsc, kCoo };

  NpzSparse(const ZipArchive& archive, std::string file)
      : archive_(&archive), file_(std::move(file)) {}
  void set_format(const std::string& name);
  void set_parts(const std::vector<NpzArray>& arrays);
  void check_part(const NpzArray& part, std::uint64_t length) const;
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const;

  const ZipArchive* archive_;
  std::string file_;
  Format format_ = Format::kCoo;
  std::uint64_t shape_[2] = {0, 0};
  std::uint64_t entries_ = 0;
  const NpzArray* index_[2] = {nullptr, nullptr};  // of rows and columns; null: by the pointers
  const NpzArray* pointers_ = nullptr;
  const NpzArray* data_ = nullptr;
  std::vector<ColumnInfo> columns_;
};

}  // namespace sluice
