// NpyReader: a NumPy .npy file of one dimension or two as a table of one column, "values", as wide
// as the array.
//
// Reads in chunks of about 4 MiB, C order straight through, Fortran order column by column and
// turned in memory.
#pragma once

#include "core/npy_header.h"
#include "prep/table/array_column.h"
#include "storage/io/file.h"

#include <sluice/options.h>

#include <array>
#include <optional>
#include <string_view>

namespace sluice {

class NpyReader final : public TableReader {
 public:
  static constexpr std::array<std::string_view, 1> kExtensions{".npy"};

  struct Options {
    void describe(Schema& /*schema*/) {}
  };

  NpyReader(Options options, const TableSource& source);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return header_.rows(); }
  bool turn_pairs(const std::string& column, TwoByTwo two_by_two) override;
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 private:
  std::optional<std::int64_t> line_of(std::uint64_t /*row*/) const override { return std::nullopt; }
  void read_rows(std::uint64_t first, std::size_t rows);

  File file_;
  NpyHeader header_;
  std::vector<ColumnInfo> columns_;
  std::optional<ArrayColumn> column_;  // from select() on
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t next_row_ = 0;
  AlignedBuffer turned_;  // Fortran order: a chunk, columns together
};

}  // namespace sluice
