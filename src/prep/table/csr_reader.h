// CsrReader: a sparse matrix whose parts are .npy files side by side, NAME_indptr.npy,
// NAME_indices.npy, NAME_values.npy (or NAME_data.npy) and NAME_shape.npy, as a table of one
// column, "matrix", as wide as it is. Users name it by its pointers. Rows are expanded as they are
// read, whatever the number of entries; those that stand in one place add up, as SciPy has it.
#pragma once

#include "core/npy_header.h"
#include "prep/table/array_column.h"
#include "storage/io/file.h"

#include <sluice/options.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class CsrReader final : public TableReader {
 public:
  static constexpr std::array<std::string_view, 0> kExtensions{};

  struct Options {
    void describe(Schema& /*schema*/) {}
  };

  CsrReader(Options options, const TableSource& source);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return rows_; }
  bool turn_sparse(const std::vector<std::string>& columns, SparseEntries entries) override;
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 private:
  struct Part {
    File file;
    NpyHeader header;

    void read(std::uint64_t first, std::span<std::byte> stored) const;
    void read_integers(std::uint64_t first,
                       std::vector<std::byte>& room,
                       std::span<std::int64_t> out) const;
  };

  std::optional<std::int64_t> line_of(std::uint64_t /*row*/) const override { return std::nullopt; }
  std::filesystem::path beside(const std::string& part) const;
  Part open_part(const std::filesystem::path& path) const;
  void check_parts() const;
  void read_pointers(std::size_t rows);
  void read_rows(std::size_t rows);
  void add_entries(std::uint64_t first, std::size_t count, std::size_t& row);
  [[noreturn]] void fail(const Part& part, const std::string& message) const;

  std::string stem_;  // what the parts' names begin with
  Part pointers_, indices_, values_;
  std::uint64_t rows_ = 0, width_ = 0;
  std::vector<ColumnInfo> columns_;
  std::optional<ArrayColumn> column_;  // from select() on
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t next_row_ = 0;
  std::vector<std::int64_t> row_ends_;  // of the chunk: where its first row begins, and each ends
  std::vector<std::int64_t> places_;    // a block's columns
  std::vector<std::byte> stored_, data_;
};

}  // namespace sluice
