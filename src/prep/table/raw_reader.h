// RawReader: a binary array without a header, row by row in the machine's byte order, as a table of
// one column, "values". What it holds is said in [raw], or for one file in [[raw.files]]; nothing
// is taken for granted, since any bytes read as numbers of any kind.
#pragma once

#include "prep/table/array_column.h"
#include "prep/table/table_formats.h"
#include "storage/io/file.h"

#include <sluice/options.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class RawReader final : public TableReader {
 public:
  static constexpr std::array<std::string_view, 2> kExtensions{".bin", ".raw"};

  /// What a file holds.
  struct Content {
    std::optional<DType> dtype;
    std::int64_t width = 0;  ///< elements a row; 0: not said
    ByteSize header{0};      ///< bytes before the first row, skipped

    void describe(Schema& schema);
  };
  struct FileContent : Content {
    std::string file;  ///< as graph.toml names it
    void describe(Schema& schema);
  };
  struct Options : Content {
    std::vector<FileContent> files;  ///< those that hold something else

    void describe(Schema& schema);
  };

  RawReader(const Options& options, const TableSource& source);

  /// Files that one [raw] stands for though they are for different things, by name, and those that
  /// seem to hold integers of another width. Throws
  /// Error(kUsage) for [[raw.files]] that nobody reads.
  static std::vector<std::string> doubts(const Options& options, std::span<const TableUse> uses);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return rows_; }
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 private:
  std::optional<std::int64_t> line_of(std::uint64_t /*row*/) const override { return std::nullopt; }

  Content content_;
  File file_;
  std::vector<ColumnInfo> columns_;
  std::uint64_t rows_ = 0;
  std::optional<ArrayColumn> column_;  // from select() on
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t next_row_ = 0;
};

}  // namespace sluice
