#include "prep/import/places_look.h"

#include "prep/table/column_names.h"
#include "prep/table/shards.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {

std::unique_ptr<TableReader> PlacesLook::open(const std::string& file,
                                              const std::string& format) const {
  if (file.empty()) return nullptr;
  try {
    const auto first = shards_of(TablePath::parse(root_ / file).file).front();
    const std::string read_as = formats_.resolve(first, format);
    if (read_as == "metis" || read_as == "graphs") return nullptr;
    return formats_.open({root_ / file, &context_.ledger, &context_.arena}, format, options_);
  } catch (const Error& problem) {
    if (problem.code() == ErrorCode::kInterrupted) throw;
    return nullptr;
  }
}

std::string PlacesLook::format_of(const std::string& file, const std::string& format) const {
  try {
    return formats_.resolve(shards_of(TablePath::parse(root_ / file).file).front(), format);
  } catch (const Error& problem) {
    if (problem.code() == ErrorCode::kInterrupted) throw;
    return {};
  }
}

std::uint64_t PlacesLook::parts_of(const std::string& file) const {
  return shards_of(TablePath::parse(root_ / file).file).size();
}

void PlacesLook::say_parts(const std::string& file) const {
  constexpr std::size_t kMostNames = 5;
  const Shards shards = find_shards(TablePath::parse(root_ / file).file);
  std::vector<std::string> empty;
  empty.reserve(shards.empty.size());
  for (const auto& part : shards.empty) empty.push_back(part.string());
  if (!empty.empty()) {
    const std::size_t shown = std::min(empty.size(), kMostNames);
    say("{}: {} of its {} files {} empty, and passed over: {}{}",
        file,
        empty.size(),
        empty.size() + shards.files.size(),
        empty.size() == 1 ? "is" : "are",
        fmt::join(empty.begin(), empty.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        shown < empty.size() ? ", ..." : "");
  }
  if (!shards.renumbered) return;
  say("{}: its {} files are read in the order of the numbers in their names, {} first and {} last, "
      "which is not that of their letters",
      file,
      shards.files.size(),
      shards.files.front().filename().string(),
      shards.files.back().filename().string());
}

ColumnPeek PlacesLook::peek(const std::string& file,
                            const std::string& format,
                            const std::string& column,
                            std::uint64_t rows) const {
  try {
    if (const auto table = open(file, format)) return peek_at(*table, column, rows);
  } catch (const Error& problem) {
    if (problem.code() == ErrorCode::kInterrupted) throw;
  }
  return {0, false, false, false, false, 0};
}

SortedColumns sort_columns(const std::vector<ColumnInfo>& columns, const std::string& known_id) {
  SortedColumns sorted;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns[i].name;
    const bool lone = columns[i].width == 1 && columns.size() > 1;
    const bool is_id = name == known_id || (known_id.empty() && is_id_name(name, i));
    if (lone && is_index_name(name, i) && name != known_id) {
      sorted.index.push_back(name);
    } else if (lone && is_id && sorted.id.empty()) {
      sorted.id = name;
    } else if (!name.empty()) {
      sorted.rest.push_back(name);
    }
  }
  return sorted;
}

std::string quoted_names(const std::vector<std::string>& names) {
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

}  // namespace sluice
