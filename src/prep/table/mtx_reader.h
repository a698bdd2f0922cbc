// MtxReader: sparse matrices as MatrixMarket gives them: a line "%%MatrixMarket matrix coordinate
// real general", comments, a line "rows columns entries", then a line an entry, counted from 1. A
// table of edges: source (the row), target (the column) and weight where there are values. Of a
// symmetric matrix the file holds one half: the table has both.
//
// A matrix that is written whole (array), and complex values, are refused.
#pragma once

#include "prep/table/market_banner.h"
#include "prep/table/row_columns.h"
#include "prep/table/table_reader.h"
#include "prep/table/text_tokens.h"

#include <sluice/options.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class MtxReader final : public TableReader {
 public:
  static constexpr std::array<std::string_view, 1> kExtensions{".mtx"};
  static constexpr bool kText = true;       ///< files may be compressed
  static constexpr bool kEdgesOnly = true;  ///< its rows are edges, and nothing else

  struct Options {
    ByteSize block{kMiB};  ///< text that is held in memory at a time

    void describe(Schema& schema);
  };

  MtxReader(const Options& options, const TableSource& source);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return std::nullopt; }
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 private:
  std::optional<std::int64_t> line_of(std::uint64_t row) const override;

  const std::vector<std::string>& read_line();
  void read_banner();
  void read_size();
  void take_entry(const std::vector<std::string>& fields);
  std::int64_t take_index(const std::string& text, std::int64_t most, const char* what) const;
  void put_edge(std::int64_t source, std::int64_t target, const std::string& weight);
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const;

  TextTokens tokens_;
  std::vector<ColumnInfo> columns_;
  std::optional<RowColumns> rows_;
  std::uint64_t first_row_ = 0;  // of the chunk
  MarketBanner banner_;
  std::vector<std::string> fields_;  // of the line read last
  std::int64_t line_ = 0;            // where it stands
  std::int64_t size_line_ = 0;
  std::int64_t num_rows_ = 0, num_columns_ = 0, num_entries_ = 0;  // of the matrix
  std::int64_t entries_ = 0;                                       // so far
  bool done_ = false;
};

}  // namespace sluice
