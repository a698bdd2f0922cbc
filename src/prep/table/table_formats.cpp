#include "prep/table/table_formats.h"

#include "prep/table/shards.h"
#include "prep/table/text_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

namespace sluice {

TablePath TablePath::parse(const std::filesystem::path& name) {
  const std::string text = name.string();
  const auto mark = text.rfind('#');
  std::error_code problem;
  if (mark == std::string::npos || std::filesystem::exists(name, problem)) return {name, {}};
  return {text.substr(0, mark), text.substr(mark + 1)};
}

std::string TableFormats::resolve(const std::filesystem::path& path,
                                  const std::string& format) const {
  std::vector<std::string> names;
  for (const auto& entry : catalog_.list()) names.push_back(entry.name);
  if (format != "auto") {
    if (std::find(names.begin(), names.end(), format) != names.end()) return format;
    throw unknown_name(catalog_.kind(), format, names);
  }
  const std::string extension = text_extension(path);
  const Place place{path.string(), -1, -1, -1};
  std::vector<std::string> known;
  for (const auto& [candidate, name] : extensions_) {
    known.push_back(candidate);
    if (candidate != extension) continue;
    if (!is_compressed_name(path) || texts_.contains(name)) return name;
    throw Error(ErrorCode::kUsage,
                fmt::format("'{}' files are not read compressed", extension),
                "decompress the file first",
                place);
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("no table format is known by the extension '{}'",
                          extension.empty() ? path.extension().string() : extension),
              fmt::format("known: {}; or name it: format = one of {}",
                          fmt::join(known, ", "),
                          fmt::join(names, ", ")),
              place);
}

std::vector<std::string> TableFormats::doubts(const std::string& format,
                                              const TableOptions& options,
                                              std::span<const TableUse> uses) const {
  const auto asked = doubts_.find(format);
  const auto said = options.find(format);
  if (asked == doubts_.end() || said == options.end()) return {};
  return asked->second(*said->second, uses);
}

std::unique_ptr<TableReader> TableFormats::open(const TableSource& source,
                                                const std::string& format,
                                                const TableOptions& options) const {
  const TablePath path = TablePath::parse(source.path);
  std::vector<std::filesystem::path> files = shards_of(path.file);
  const auto open_file =
      [this, source, format, options, table = path.table](const std::filesystem::path& file) {
        return open_one({file, source.ledger, source.arena, table}, format, options);
      };
  if (files.size() == 1) return open_file(files.front());
  TableSource all = source;
  all.path = path.file;
  return std::make_unique<ShardReader>(all, std::move(files), open_file);
}

std::unique_ptr<TableReader> TableFormats::open_one(const TableSource& source,
                                                    const std::string& format,
                                                    const TableOptions& options) const {
  Selection selection;
  selection.type = resolve(source.path, format);
  if (const auto found = options.find(selection.type); found != options.end())
    selection.options = found->second;
  std::error_code problem;
  const auto status = std::filesystem::status(source.path, problem);
  const Place place{source.path.string(), -1, -1, -1};
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Error(ErrorCode::kData,
                "there is no such file",
                "check its name, and the folder it is looked for in (--root)",
                place);
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw Error(
        ErrorCode::kData, "is not a regular file", "name a file, not a pipe or a device", place);
  }
  return catalog_.create(selection, source);
}

}  // namespace sluice
