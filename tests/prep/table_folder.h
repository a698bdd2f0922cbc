// A folder of tables, opened by their extensions and read to the end.
#pragma once

#include "import_support.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

/// What a reader handed out of one column, chunk behind chunk.
struct ReadColumn {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> texts;
  std::string raw;
};

struct Tables {
  explicit Tables(int threads = 1, std::uint64_t limit = MemoryLedger::kUnlimited)
      : ledger(limit, "--memory"), arena(threads) {}

  TempDir dir;
  MemoryLedger ledger;
  ThreadArena arena;
  TableFormats formats = table_formats();

  std::unique_ptr<TableReader> open(const std::string& name, const TableOptions& options = {}) {
    return formats.open({dir / name, &ledger, &arena}, "auto", options);
  }

  static std::vector<ReadColumn> read(TableReader& reader,
                                      const std::vector<ColumnRequest>& requests) {
    reader.select(requests);
    std::vector<ReadColumn> all(requests.size());
    std::uint64_t rows = 0;
    for (TableChunk chunk; reader.next(chunk); rows += chunk.rows) {
      REQUIRE(chunk.rows > 0);
      REQUIRE(chunk.first_row == rows);
      REQUIRE(chunk.columns.size() == requests.size());
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const ColumnValues& values = chunk.columns[i];
        ReadColumn& to = all[i];
        to.integers.insert(to.integers.end(), values.integers.begin(), values.integers.end());
        to.reals.insert(to.reals.end(), values.reals.begin(), values.reals.end());
        for (std::size_t row = 0; row < values.text.size(); ++row)
          to.texts.emplace_back(values.text[row]);
        to.raw.append(reinterpret_cast<const char*>(values.raw.data()), values.raw.size());
      }
    }
    if (const auto stated = reader.num_rows()) CHECK(*stated == rows);
    return all;
  }

  ReadColumn column(const std::string& file,
                    const std::string& name,
                    ColumnType type,
                    EmptyCell empty = EmptyCell::kRefuse) {
    const auto reader = open(file);
    return read(*reader, {{name, type, empty}})[0];
  }
  std::vector<std::int64_t> integers(const std::string& file,
                                     const std::string& name,
                                     EmptyCell empty = EmptyCell::kRefuse) {
    return column(file, name, ColumnType::kInteger, empty).integers;
  }
  std::vector<double> reals(const std::string& file,
                            const std::string& name,
                            EmptyCell empty = EmptyCell::kRefuse) {
    return column(file, name, ColumnType::kReal, empty).reals;
  }

  /// The message of what reading a column must end with, the file left out.
  std::string fault(const std::string& file,
                    const std::string& name,
                    ColumnType type,
                    EmptyCell empty = EmptyCell::kRefuse) {
    const Error error = expect_error([&] { column(file, name, type, empty); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.place().file == (dir / file).string());
    CHECK_FALSE(error.hint().empty());
    return error.message();
  }
};

}  // namespace sluice::test
