// Tables of text, opened from a string and read whole, for comparison with a brute-force reading.
#pragma once

#include "import_bad_input.h"  // IWYU pragma: export
#include "prep/import_support.h"
#include "prep/table/table_formats.h"
#include "prep/table/table_reader.h"
#include "prep/table/table_values.h"
#include "registry/core.h"
#include "support/temp_dir.h"

#include <sluice/memory.h>
#include <sluice/options.h>
#include <sluice/threads.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

/// A cell as text, whatever its type: reals as fmt writes them.
using Cells = std::vector<std::vector<std::string>>;

/// Files written and opened by name, with options as a graph.toml has them: "[list]\nblock = 4096".
struct TextTable {
  TempDir dir;
  MemoryLedger ledger;
  TableFormats formats = table_formats();

  struct Formats {
    TableOptions& options;
    const TableFormats& formats;
    void describe(Schema& schema) const {
      for (const auto& entry : formats.catalog().list()) {
        auto& made = options[entry.name];
        made = formats.catalog().make_options(entry.name);
        schema.section(entry.name, *made);
      }
    }
  };

  std::unique_ptr<TableReader> open(const std::string& name,
                                    std::string_view content,
                                    ThreadArena& arena,
                                    const std::string& toml = "",
                                    const std::string& format = "auto",
                                    const std::string& table = "") {
    TableOptions options;
    Formats all{options, formats};
    Config::parse(toml, "test").bind_to(all);
    std::filesystem::path path = dir.write(name, content);
    if (!table.empty()) path += "#" + table;
    return formats.open({path, &ledger, &arena}, format, options);
  }
};

/// All rows of the columns, or of those named, each read as `type`; chunks must follow each other.
inline Cells read_cells(TableReader& reader,
                        ColumnType type = ColumnType::kText,
                        std::vector<std::string> names = {},
                        EmptyCell empty = EmptyCell::kRefuse) {
  if (names.empty()) {
    for (const ColumnInfo& column : reader.columns()) names.push_back(column.name);
  }
  std::vector<ColumnRequest> requests;
  for (const std::string& name : names) requests.push_back({name, type, empty});
  reader.select(requests);
  Cells rows;
  for (TableChunk chunk; reader.next(chunk);) {
    REQUIRE(chunk.first_row == rows.size());
    REQUIRE(chunk.rows > 0);
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      std::vector<std::string>& cells = rows.emplace_back();
      for (const ColumnValues& column : chunk.columns) {
        if (type == ColumnType::kText) cells.emplace_back(column.text[row]);
        if (type == ColumnType::kInteger) cells.push_back(std::to_string(column.integers[row]));
        if (type == ColumnType::kReal) cells.push_back(fmt::format("{}", column.reals[row]));
      }
    }
  }
  TableChunk behind;
  CHECK_FALSE(reader.next(behind));
  return rows;
}

inline std::vector<std::string> column_names(const TableReader& reader) {
  std::vector<std::string> names;
  for (const ColumnInfo& column : reader.columns()) names.push_back(column.name);
  return names;
}

inline std::filesystem::path data_folder() {
  if (const char* data = std::getenv("SLUICE_DATA")) return data;
  const char* source = std::getenv("SLUICE_SOURCE");
  return std::filesystem::path(source != nullptr ? source : ".") / "../shared/data";
}

/// The text of a real data set's file; nothing, and a word about it, where it is not there.
inline std::optional<std::string> real_data(const std::string& name) {
  const std::filesystem::path path = data_folder() / name;
  if (std::filesystem::exists(path)) return read_all(path);
  MESSAGE("skipped: no ", path.string(), "; set SLUICE_DATA");
  return std::nullopt;
}

}  // namespace sluice::test
