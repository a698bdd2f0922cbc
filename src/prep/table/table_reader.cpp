#include "prep/table/table_reader.h"

#include <sluice/options.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {
namespace {

/// The columns that a file has; of an only one whose name holds what parts the fields of others,
/// what to say.
std::string say_columns(const std::vector<ColumnInfo>& columns) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const ColumnInfo& column : columns) names.push_back(column.name);
  std::string all = fmt::format("its columns: {}", fmt::join(names, ", "));
  if (columns.size() != 1 || columns.front().dtype || columns.front().words) return all;
  const std::size_t at = names.front().find_first_of(";|\t, ");
  if (at == std::string::npos) return all;
  const char parts = names.front()[at];
  const std::string shown = parts == '\t' ? "\\t" : std::string(1, parts);
  return fmt::format(
      "its only column is '{}': if '{}' parts its fields, say [csv] delimiter = \"{}\"",
      names.front(),
      shown,
      shown);
}

}  // namespace

Error TableReader::value_error(std::uint64_t row,
                               const std::string& column,
                               const std::string& reason,
                               const std::string& hint) const {
  if (const auto line = line_of(row)) {
    return Error(ErrorCode::kData,
                 fmt::format("column '{}': {}", column, reason),
                 hint,
                 Place{path().string(), *line, -1, -1});
  }
  const bool only = columns().size() == 1;
  return Error(ErrorCode::kData,
               only ? fmt::format("row {}: {}", row, reason)
                    : fmt::format("row {}: column '{}': {}", row, column, reason),
               hint,
               Place{path().string(), -1, -1, -1});
}

const ColumnInfo& TableReader::column(const std::string& name, std::size_t default_index) const {
  const auto& all = columns();
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const ColumnInfo& column : all) names.push_back(column.name);
  const Place place{path().string(), -1, -1, -1};
  if (name.empty()) {
    if (default_index < all.size()) return all[default_index];
    throw Error(
        ErrorCode::kData,
        fmt::format("{} columns are needed, the file has {}", default_index + 1, all.size()),
        say_columns(all),
        place);
  }
  const auto count = std::count(names.begin(), names.end(), name);
  if (count > 1)
    throw Error(ErrorCode::kData,
                fmt::format("there are {} columns '{}'", count, name),
                "rename one",
                place);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return all[static_cast<std::size_t>(found - names.begin())];
  if (const std::string reason = why_no_column(name); !reason.empty()) {
    throw Error(ErrorCode::kData,
                fmt::format("'{}' is no column: {}", name, reason),
                say_columns(all),
                place);
  }
  const auto nearest = nearest_word(name, names);
  throw Error(
      ErrorCode::kData,
      fmt::format("there is no column '{}'", name),
      fmt::format(
          "{}{}", nearest ? fmt::format("did you mean '{}'? ", *nearest) : "", say_columns(all)),
      place);
}

}  // namespace sluice
