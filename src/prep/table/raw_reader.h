// RawReader: a binary array without a header, row by row in the machine's byte order, as a table of
// one column, "values". What it holds is said in [raw].
#pragma once

#include "prep/table/array_column.h"
#include "storage/io/file.h"

#include <sluice/options.h>

#include <array>
#include <optional>
#include <string_view>

namespace sluice {

class RawReader final : public TableReader {
 public:
  static constexpr std::array<std::string_view, 2> kExtensions{".bin", ".raw"};

  struct Options {
    DType dtype = DType::kI64;
    std::int64_t width = 2;  ///< elements a row
    ByteSize header{0};      ///< bytes before the first row, skipped

    void describe(Schema& schema);
  };

  RawReader(Options options, const TableSource& source);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return rows_; }
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 private:
  std::optional<std::int64_t> line_of(std::uint64_t /*row*/) const override { return std::nullopt; }

  Options options_;
  File file_;
  std::vector<ColumnInfo> columns_;
  std::uint64_t rows_ = 0;
  std::optional<ArrayColumn> column_;  // from select() on
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t next_row_ = 0;
};

}  // namespace sluice
