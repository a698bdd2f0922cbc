// CsvReader: CSV and TSV, parsed by Arrow's block parser and converters, several blocks at a time;
// blocks without quotes, of plain numbers and texts, by a parser of our own, which is faster.
//
// Plain, or compressed with gzip or zstd. UTF-8 with or without a byte-order mark; LF or CRLF;
// fields may be quoted, a quote inside is doubled, and a field ends on its line; blanks around a
// field are none of it. Blank lines are skipped, but before a row of a file of one column; they and
// the header among the rows are errors (stray_lines.h). Integers may not have a point. Errors carry
// the line.
#pragma once

#include "prep/table/csv_text.h"
#include "prep/table/table_reader.h"

#include <sluice/options.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class CsvReader final : public TableReader {
 public:
  static constexpr std::array<std::string_view, 2> kExtensions{".csv", ".tsv"};
  static constexpr bool kText = true;  ///< files may be compressed

  struct Options {
    CsvHeader header = CsvHeader::kYes;
    std::vector<std::string> columns;  ///< their names; empty: as the header says
    std::string delimiter;             ///< one character; empty: tab for .tsv, else comma
    ByteSize block{2 * kMiB};          ///< text a thread parses at a time; a line must fit in one

    void describe(Schema& schema);
  };

  CsvReader(const Options& options, const TableSource& source);
  ~CsvReader() override;

  const std::vector<ColumnInfo>& columns() const override;
  std::optional<std::uint64_t> num_rows() const override { return std::nullopt; }
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 private:
  std::optional<std::int64_t> line_of(std::uint64_t row) const override;

  class Impl;  // keeps Arrow's headers out of this one
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
