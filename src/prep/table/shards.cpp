#include "prep/table/shards.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool hidden = entry.path().filename().string().starts_with('.');
    if (!hidden && entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

std::vector<fs::path> matches_of(const fs::path& pattern) {
  struct Found {
    glob_t names{};
    ~Found() { globfree(&names); }
  } found;
  std::vector<fs::path> files;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found.names) != 0) return files;
  for (std::size_t i = 0; i < found.names.gl_pathc; ++i)
    if (fs::is_regular_file(found.names.gl_pathv[i])) files.emplace_back(found.names.gl_pathv[i]);
  return files;
}

std::string described(const std::vector<ColumnInfo>& columns) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(columns.size(), kMost); ++i) {
    const ColumnInfo& column = columns[i];
    text += fmt::format("{}{}", i == 0 ? "" : ", ", column.name);
    if (column.dtype)
      text += fmt::format(" ({})", column.truth ? "bool" : to_string(*column.dtype));
    if (column.width != 1) text += fmt::format(" [{}]", column.width);
  }
  return columns.size() > kMost ? text + ", ..." : text;
}

}  // namespace

std::vector<fs::path> shards_of(const fs::path& name) {
  std::error_code problem;
  const auto status = fs::status(name, problem);
  const bool folder = fs::is_directory(status);
  const bool pattern =
      !fs::exists(status) && name.string().find_first_of("*?[") != std::string::npos;
  if (!folder && !pattern) return {name};
  std::vector<fs::path> files = folder ? files_in(name) : matches_of(name);
  std::sort(files.begin(), files.end());
  if (!files.empty()) return files;
  throw Error(ErrorCode::kData,
              folder ? "there are no files in this folder" : "no file matches this",
              "check the name, and the folder it is looked for in (--root)",
              Place{name.string(), -1, -1, -1});
}

ShardReader::ShardReader(const TableSource& source, std::vector<fs::path> files, Open open)
    : TableReader(source), files_(std::move(files)), open_(std::move(open)) {
  look_at_all();
}

void ShardReader::look_at_all() {
  columns_.clear();
  rows_ = 0;
  for (const fs::path& file : files_) {
    const auto shard = open_(file);
    if (columns_.empty()) columns_ = shard->columns();
    check_columns(*shard);
    const auto rows = shard->num_rows();
    rows_ = rows_ && rows ? std::optional(*rows_ + *rows) : std::nullopt;
  }
}

void ShardReader::check_columns(const TableReader& shard) const {
  const auto& columns = shard.columns();
  const bool same = std::equal(columns.begin(),
                               columns.end(),
                               columns_.begin(),
                               columns_.end(),
                               [](const ColumnInfo& a, const ColumnInfo& b) {
                                 return a.name == b.name && a.dtype == b.dtype &&
                                        a.width == b.width && a.truth == b.truth &&
                                        a.words == b.words;
                               });
  if (same) return;
  throw Error(ErrorCode::kData,
              fmt::format("its columns are {}; those of '{}' are {}",
                          described(columns),
                          files_.front().filename().string(),
                          described(columns_)),
              "files that are one table have the same columns",
              Place{shard.path().string(), -1, -1, -1});
}

// Each is a matrix, and their rows follow each other.
bool ShardReader::turn_sparse(const std::vector<std::string>& columns, SparseEntries entries) {
  if (!open_(files_.front())->turn_sparse(columns, entries)) return false;
  open_ = [open = std::move(open_), columns, entries](const fs::path& file) {
    auto shard = open(file);
    (void)shard->turn_sparse(columns, entries);
    return shard;
  };
  look_at_all();
  return true;
}

void ShardReader::select(const std::vector<ColumnRequest>& requests) {
  requests_ = requests;
  current_ = open_(files_[next_file_++]);
  current_->select(requests_);
}

bool ShardReader::next(TableChunk& chunk) {
  while (!current_->next(chunk)) {
    if (next_file_ == files_.size()) return false;
    first_row_ = read_;
    current_.reset();  // its memory first
    current_ = open_(files_[next_file_++]);
    check_columns(*current_);
    current_->select(requests_);
  }
  chunk.first_row += first_row_;
  read_ = chunk.first_row + chunk.rows;
  return true;
}

Error ShardReader::value_error(std::uint64_t row,
                               const std::string& column,
                               const std::string& reason,
                               const std::string& hint) const {
  return current_->value_error(row - first_row_, column, reason, hint);
}

}  // namespace sluice
