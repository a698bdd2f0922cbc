#include "prep/table/text_columns.h"

#include <sluice/options.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {

std::vector<ColumnInfo> numbered_columns(std::size_t count) {
  std::vector<ColumnInfo> columns;
  columns.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    columns.push_back({fmt::format("c{}", i), std::nullopt, 1});
  return columns;
}

void rename_columns(std::vector<ColumnInfo>& columns,
                    const std::vector<std::string>& names,
                    const std::string& option,
                    const Place& place) {
  if (names.empty()) return;
  if (names.size() != columns.size()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} names {} columns, but the first line has {} fields",
                            option,
                            names.size(),
                            columns.size()),
                "name every column, in the order of the file",
                place);
  }
  for (std::size_t i = 0; i < names.size(); ++i) columns[i].name = names[i];
}

std::vector<std::size_t> positions_of(const std::vector<ColumnRequest>& requests,
                                      const std::vector<ColumnInfo>& columns) {
  std::vector<std::size_t> positions;
  for (const ColumnRequest& request : requests) {
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const ColumnInfo& column) {
      return column.name == request.name;
    });
    positions.push_back(static_cast<std::size_t>(found - columns.begin()));
  }
  return positions;
}

std::size_t choose_table(const TableSource& source, std::span<const std::string_view> tables) {
  if (source.table.empty()) return 0;
  const auto found = std::find(tables.begin(), tables.end(), source.table);
  if (found != tables.end()) return static_cast<std::size_t>(found - tables.begin());
  const std::vector<std::string> names(tables.begin(), tables.end());
  const auto nearest = nearest_word(source.table, names);
  throw Error(ErrorCode::kUsage,
              fmt::format("there is no table '{}'", source.table),
              fmt::format("{}its tables: {}",
                          nearest ? fmt::format("did you mean '{}'? ", *nearest) : "",
                          fmt::join(names, ", ")),
              Place{source.path.string(), -1, -1, -1});
}

void refuse_tables(const TableSource& source) {
  if (source.table.empty()) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("there is no table '{}': the file is one table", source.table),
              fmt::format("leave '#{}' out", source.table),
              Place{source.path.string(), -1, -1, -1});
}

}  // namespace sluice
