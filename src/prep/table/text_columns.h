// What the readers of text share about columns and tables: names where a file has none, and the
// table that is asked for. Pure functions.
#pragma once

#include "prep/table/table_reader.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Columns c0, c1, ...
std::vector<ColumnInfo> numbered_columns(std::size_t count);

/// Gives columns the names that the user set, unless there are none. Throws Error(kUsage) where
/// they are not as many. @param option for messages: "[csv] columns" @param place of the first line
void rename_columns(std::vector<ColumnInfo>& columns,
                    const std::vector<std::string>& names,
                    const std::string& option,
                    const Place& place);

/// For each request, where its column stands in `columns`.
std::vector<std::size_t> positions_of(const std::vector<ColumnRequest>& requests,
                                      const std::vector<ColumnInfo>& columns);

/// Which of `tables` is asked for, the first where none is named. Throws Error(kUsage) for others.
std::size_t choose_table(const TableSource& source, std::span<const std::string_view> tables);

/// Throws Error(kUsage) where a table is named though the file is one.
void refuse_tables(const TableSource& source);

}  // namespace sluice
