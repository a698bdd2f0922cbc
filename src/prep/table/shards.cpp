#include "prep/table/shards.h"

#include "prep/table/text_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

bool is_name_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Whether a UUID begins there: its digits are no number.
bool is_uuid_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() - at < kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const char c = text[at + i];
    const bool fits =
        kShape[i] == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
    if (!fits) return false;
  }
  return true;
}

/// What names are compared by, piece by piece: a character, a number, a UUID.
struct NamePiece {
  int rank = 0;           ///< first by this: the character, one rank for all numbers
  std::string_view text;  ///< then by its length, of numbers, and by itself
  bool number = false;
};

/// The piece that begins at `at`; moves `at` behind it.
NamePiece take_piece(std::string_view name, std::size_t& at) {
  constexpr std::size_t kUuid = 36;
  constexpr int kNumbers = 2 * '9';
  const std::size_t begin = at;
  if (is_uuid_at(name, at)) {
    at += kUuid;
    return {kNumbers + 1, name.substr(begin, kUuid), false};
  }
  if (!is_name_digit(name[at])) return {2 * static_cast<unsigned char>(name[at++]), {}, false};
  while (at < name.size() && is_name_digit(name[at])) ++at;
  std::string_view digits = name.substr(begin, at - begin);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return {kNumbers, digits, true};
}

/// Below, at or above zero, as the first name stands before, with or behind the other.
int compare_names(std::string_view a, std::string_view b) {
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const NamePiece one = take_piece(a, i), other = take_piece(b, k);
    if (one.rank != other.rank) return one.rank - other.rank;
    if (one.number && one.text.size() != other.text.size())
      return one.text.size() < other.text.size() ? -1 : 1;
    if (const int order = one.text.compare(other.text)) return order;
    if (i == a.size() || k == b.size()) {
      if ((i == a.size()) != (k == b.size())) return i == a.size() ? -1 : 1;
    }
  }
  return a.compare(b);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (!is_mark(entry.path()) && entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

std::vector<fs::path> matches_of(const fs::path& pattern) {
  struct Found {
    glob_t names{};
    ~Found() { globfree(&names); }
  } found;
  std::vector<fs::path> files;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found.names) != 0) return files;
  // As with '.', only a pattern that begins so means them.
  const bool marks = is_mark(pattern);
  for (std::size_t i = 0; i < found.names.gl_pathc; ++i) {
    const fs::path file = found.names.gl_pathv[i];
    if (fs::is_regular_file(file) && (marks || !is_mark(file))) files.push_back(file);
  }
  return files;
}

/// What to do where a folder holds no file of a table.
std::string hint_for_folder(const fs::path& folder) {
  std::vector<std::string> inner;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !is_mark(entry.path()))
      inner.push_back(entry.path().filename().string());
  if (inner.empty()) return "check the name, and the folder it is looked for in (--root)";
  std::sort(inner.begin(), inner.end());
  if (inner.size() > 3) inner.resize(3);
  return fmt::format(
      "files lie in its folders ({}): name them, file = \"{}/*/*\" for all, or one "
      "[[edges]] a folder; what only a folder's name says is no column",
      fmt::join(inner, ", "),
      folder.filename().string());
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

bool is_mark(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with('.') || name.starts_with('_');
}

bool numbered_less(const fs::path& a, const fs::path& b) {
  auto i = a.begin(), k = b.begin();
  for (; i != a.end() && k != b.end(); ++i, ++k)
    if (const int order = compare_names(i->native(), k->native())) return order < 0;
  return i == a.end() && k != b.end();
}

bool is_empty_part(const fs::path& file) {
  constexpr std::uintmax_t kMostBytes = 4096;  // what is longer holds something
  std::error_code problem;
  const std::uintmax_t size = fs::file_size(file, problem);
  if (problem || size > kMostBytes) return false;
  if (size == 0) return true;
  const std::string extension = text_extension(file);
  if (extension == ".bin" || extension == ".raw") return false;  // any byte is data
  std::string text(2 * kMostBytes, '\0');
  try {
    MemoryLedger ledger;
    const auto source = TextSource::open(file, &ledger);
    text.resize(source->read(std::as_writable_bytes(std::span(text))));
  } catch (const Error&) {
    return false;  // reading it says what is wrong
  }
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

Shards find_shards(const fs::path& name) {
  std::error_code problem;
  const auto status = fs::status(name, problem);
  const bool folder = fs::is_directory(status);
  const bool pattern =
      !fs::exists(status) && name.string().find_first_of("*?[") != std::string::npos;
  if (!folder && !pattern) return {{name}, {}, false};
  Shards found;
  std::vector<fs::path> all = folder ? files_in(name) : matches_of(name);
  std::sort(all.begin(), all.end(), numbered_less);
  found.renumbered = !std::is_sorted(all.begin(), all.end());
  for (fs::path& file : all) (is_empty_part(file) ? found.empty : found.files).push_back(file);
  if (!found.files.empty()) return found;
  const Place place{name.string(), -1, -1, -1};
  if (!found.empty.empty())
    throw Error(ErrorCode::kData,
                fmt::format("all of its {} files are empty", found.empty.size()),
                "write them again, or leave this table out",
                place);
  throw Error(ErrorCode::kData,
              folder ? "there are no files in this folder" : "no file matches this",
              folder ? hint_for_folder(name)
                     : "check the name, and the folder it is looked for in (--root)",
              place);
}

std::vector<fs::path> shards_of(const fs::path& name) {
  return find_shards(name).files;
}

ShardReader::ShardReader(const TableSource& source, std::vector<fs::path> files, Open open)
    : TableReader(source), files_(std::move(files)), open_(std::move(open)) {
  look_at_all();
}

void ShardReader::look_at_all() {
  columns_.clear();
  unlike_.reset();
  rows_ = 0;
  for (const fs::path& file : files_) {
    const auto shard = open_(file);
    if (columns_.empty()) columns_ = shard->columns();
    const auto& columns = shard->columns();
    const bool widths_alone =
        std::equal(columns.begin(),
                   columns.end(),
                   columns_.begin(),
                   columns_.end(),
                   [](const ColumnInfo& a, const ColumnInfo& b) {
                     return a.name == b.name && a.dtype && a.dtype == b.dtype && a.truth == b.truth;
                   });
    if (auto problem = unlike(*shard)) {
      if (!widths_alone) throw Error(*problem);
      if (!unlike_) unlike_ = std::move(problem);
    }
    const auto rows = shard->num_rows();
    rows_ = rows_ && rows ? std::optional(*rows_ + *rows) : std::nullopt;
  }
}

// What lies as [2, N] in one of them lies so in all.
bool ShardReader::turn_pairs(const std::string& column, TwoByTwo two_by_two) {
  const bool any = std::any_of(files_.begin(), files_.end(), [&](const fs::path& file) {
    return open_(file)->turn_pairs(column, two_by_two);
  });
  if (!any) return false;
  open_ = [open = std::move(open_), column](const fs::path& file) {
    auto shard = open(file);
    (void)shard->turn_pairs(column, TwoByTwo::kColumns);
    return shard;
  };
  look_at_all();
  return true;
}

std::optional<Error> ShardReader::unlike(const TableReader& shard) const {
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
  if (same) return std::nullopt;
  return Error(ErrorCode::kData,
               fmt::format("its columns are {}; those of '{}' are {}",
                           described(columns),
                           files_.front().filename().string(),
                           described(columns_)),
               shard.num_rows() == 0U ? "it has no rows: remove it, or write it as the others are"
                                      : "files that are one table have the same columns",
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
  if (unlike_) throw Error(*unlike_);
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
    if (const auto problem = unlike(*current_)) throw Error(*problem);
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
