// ParquetReader: Parquet files by Arrow's decoders. Only the columns that are asked for are read,
// each page by page and all of them at a time; a page is in memory whole, a row group is not.
#pragma once

#include "prep/table/arrow_table_reader.h"

#include <sluice/options.h>

#include <array>
#include <string_view>

namespace sluice {

class ParquetReader final : public ArrowTableReader {
 public:
  static constexpr std::array<std::string_view, 2> kExtensions{".parquet", ".pq"};

  struct Options {
    void describe(Schema& /*schema*/) {}
  };

  ParquetReader(Options options, const TableSource& source);
};

}  // namespace sluice
