// NpzReader: a NumPy .npz file as a table: each array is a column of its name, as wide as it is; or
// a SciPy sparse matrix as its entries (npz_sparse.h), or by its rows; one whose parts stand among
// others is named as "file.npz#adj". Members are unpacked as they are read.
#pragma once

#include "prep/table/array_column.h"
#include "prep/table/npz_arrays.h"
#include "prep/table/npz_sparse.h"

#include <sluice/options.h>

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice {

class NpzReader final : public TableReader {
 public:
  static constexpr std::array<std::string_view, 1> kExtensions{".npz"};

  struct Options {
    void describe(Schema& /*schema*/) {}
  };

  NpzReader(Options options, const TableSource& source);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return rows_; }
  bool turn_pairs(const std::string& column, TwoByTwo two_by_two) override;
  bool turn_sparse(const std::vector<std::string>& columns, SparseEntries entries) override;
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 private:
  struct Selected {
    ArrayColumn values;
    std::unique_ptr<NpzColumn> source;
  };

  std::optional<std::int64_t> line_of(std::uint64_t /*row*/) const override { return std::nullopt; }
  std::string why_no_column(const std::string& name) const override;
  [[noreturn]] void refuse_parts() const;
  std::size_t index_of(const std::string& name) const;
  std::uint64_t rows_of(std::size_t column) const;
  std::unique_ptr<NpzColumn> open(std::size_t column) const;

  ZipArchive archive_;
  std::vector<NpzArray> arrays_;
  std::optional<NpzSparse> sparse_;
  bool by_rows_ = false;  // the sparse matrix
  NpzSparseParts parts_;
  std::vector<ColumnInfo> columns_;
  std::vector<NpzArray*> of_column_;  // where it is no sparse matrix
  std::optional<std::uint64_t> rows_;
  std::vector<Selected> selected_;
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t next_row_ = 0;
};

}  // namespace sluice
