// Which files are tables, alone or as parts, and what their names say.
#include "prep/layout/files_guess.h"
#include "prep/layout/left_out.h"
#include "prep/layout/parts.h"
#include "prep/table/shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace sluice {
namespace {

/// Folders that part a table by when it was written, and not by what it holds.
bool parts_by_time(const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    for (const char* word : {"date", "dt", "ds", "day", "month", "year", "hour", "time", "week"})
      if (key == word) return true;
  return false;
}

}  // namespace

void FilesGuess::add_role(const std::string& file,
                          const std::string& name,
                          const std::string& value) {
  FileRole role = role_of(name);
  role.file = file;
  role.value = value;
  if (files_.format_of(file).empty()) role.kind = FileRole::Kind::kUnread;
  roles_.push_back(std::move(role));
}

/// Where all lines of a file are words, others tell whether the first names columns.
void FilesGuess::find_header() {
  for (const std::string& name : files_.names()) {
    if (header_in_ || goes_with_data(name) || files_.format_of(name) != "csv") continue;
    try {
      const TextGuess text = guess_text(files_, name);
      if (!text.unsure && !text.format.empty() && text.options.find("header") == std::string::npos)
        header_in_ = name;
    } catch (const Error& problem) {
      if (problem.code() == ErrorCode::kInterrupted) throw;  // else it is said where it is read
    }
  }
}

void FilesGuess::find_roles() {
  find_header();
  std::map<std::string, std::vector<TableFiles>> folders;  // parted by KEY=VALUE
  for (TableFiles& table : find_tables(files_)) {
    if (!table.keys.empty() && !files_.format_of(table.file).empty()) {
      folders[table.folder + "\n" + fmt::format("{}", fmt::join(table.keys, "\n"))].push_back(
          std::move(table));
      continue;
    }
    if (table.parts.empty() || files_.format_of(table.file).empty()) {
      if (table.parts.empty()) add_role(table.file, table.name, {});
      for (const std::string& part : table.parts) add_role(part, part, {});
      continue;
    }
    TextGuess text;
    try {
      if (use_text(table.file, text))
        (void)files_.open(table.file, text.format, made_.spec.formats);
      std::vector<std::string> empty;
      for (const std::string& part : table.parts)
        if (is_empty_part(files_.root() / part)) empty.push_back(part);
      made_.comments.head.push_back(fmt::format(
          "{}: {}.{}",
          table.file,
          table.why,
          empty.empty() ? ""
                        : fmt::format(" Empty, and passed over: {}.", fmt::join(empty, ", "))));
      add_role(table.file, table.name, {});
    } catch (const Error& problem) {
      if (problem.code() == ErrorCode::kInterrupted) throw;
      made_.comments.head.push_back(
          fmt::format("{}: they look like parts of one table, and are none: {}.",
                      table.file,
                      problem.message()));
      for (const std::string& part : table.parts) add_role(part, part, {});
    }
  }
  for (const auto& [folder, tables] : folders) add_folders(tables);
}

void FilesGuess::add_folders(const std::vector<TableFiles>& tables) {
  const TableFiles all = joined_folders(files_, tables);
  const std::string keys = fmt::format("{}", fmt::join(all.keys, ", "));
  const auto guess = try_table(tables.front().file);
  const bool relations = guess && guess->found() && !parts_by_time(all.keys) &&
                         role_of(all.name).kind == FileRole::Kind::kOther;
  if (!relations && !all.file.empty()) {
    made_.comments.head.push_back(fmt::format("{}: {} ({}).", all.file, all.why, keys));
    return add_role(all.file, all.name, {});
  }
  for (const TableFiles& table : tables)
    add_role(table.file, table.name, fmt::format("{}", fmt::join(table.values, "_")));
  made_.comments.head.push_back(fmt::format(
      "{}: folders {} = ...: a relation for each value. No column has it.", all.folder, keys));
}

}  // namespace sluice
