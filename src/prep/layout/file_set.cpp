#include "prep/layout/file_set.h"

#include "prep/table/market_banner.h"
#include "prep/table/shards.h"
#include "prep/table/text_source.h"
#include "storage/io/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 100'000;

Place place_of(const fs::path& path) {
  return {path.string(), -1, -1, -1};
}

// The folder that all of the files are in.
fs::path common_folder(const std::vector<fs::path>& paths) {
  fs::path folder;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const fs::path own = fs::is_directory(paths[i]) ? paths[i] : paths[i].parent_path();
    if (i == 0) {
      folder = own;
      continue;
    }
    fs::path shared;
    for (auto a = folder.begin(), b = own.begin(); a != folder.end() && b != own.end() && *a == *b;
         ++a, ++b)
      shared /= *a;
    folder = shared;
  }
  return folder;
}

/// Collects the files of a folder at any depth, each once whatever links lead to it.
class FolderWalk {
 public:
  explicit FolderWalk(std::vector<fs::path>& files) : files_(files) {}

  void run(const fs::path& folder) {
    root_ = folder;
    walk(folder);
    // What lies in the tree itself is found there, and not by a link to it.
    while (!links_.empty()) {
      const fs::path link = *links_.begin();
      links_.erase(links_.begin());
      if (!leads_up(link)) walk(link);
    }
  }

 private:
  void walk(const fs::path& folder) {
    std::error_code problem;
    const fs::path real = fs::canonical(folder, problem);
    if (problem || !seen_.insert(real).second) return;
    for (const auto& entry :
         fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, problem)) {
      if (is_mark(entry.path())) continue;
      if (entry.is_directory(problem)) {
        if (entry.is_symlink(problem)) {
          links_.insert(entry.path());
        } else {
          walk(entry.path());
        }
      } else if (entry.is_regular_file(problem)) {
        add(entry.path());
      }
    }
  }

  /// To a folder that the link itself is in.
  static bool leads_up(const fs::path& link) {
    std::error_code problem;
    const fs::path target = fs::canonical(link, problem);
    if (problem) return true;
    const fs::path own = fs::canonical(link.parent_path(), problem);
    return std::mismatch(target.begin(), target.end(), own.begin(), own.end()).first ==
           target.end();
  }

  void add(const fs::path& file) {
    files_.push_back(file);
    if (files_.size() <= kMostFiles) return;
    throw Error(ErrorCode::kUsage,
                fmt::format("there are more than {} files", kMostFiles),
                "name the files that matter, or write a graph.toml: file = \"FOLDER/*.csv\"",
                place_of(root_));
  }

  std::vector<fs::path>& files_;
  fs::path root_;
  std::set<fs::path> seen_;   // as they are, without links
  std::set<fs::path> links_;  // to folders
};

}  // namespace

FileSet::FileSet(const std::vector<std::string>& paths,
                 const fs::path& base,
                 const TableFormats& formats,
                 MemoryLedger& ledger,
                 ThreadArena& arena)
    : formats_(&formats), ledger_(&ledger), arena_(&arena) {
  std::vector<fs::path> given, files;
  for (const std::string& path : paths) {
    given.push_back((base / path).lexically_normal());
    // "data/" is the folder "data".
    if (!given.back().has_filename() && given.back().has_relative_path())
      given.back() = given.back().parent_path();
    std::error_code problem;
    if (!fs::exists(given.back(), problem))
      throw Error(ErrorCode::kData,
                  "there is no such file or folder",
                  "check its name, and the folder it is looked for in (--root)",
                  place_of(given.back()));
    if (fs::is_directory(given.back())) {
      FolderWalk(files).run(given.back());
    } else {
      files.push_back(given.back());
    }
  }
  root_ = base.empty() ? common_folder(given) : base;
  if (root_.empty()) root_ = ".";
  for (const fs::path& file : files) {
    const fs::path below = file.lexically_relative(root_.lexically_normal());
    names_.push_back((below.empty() ? file : below).generic_string());  // an absolute one stays so
  }
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
  if (names_.empty())
    throw Error(
        ErrorCode::kData, "there are no files in it", "name a folder of data", place_of(root_));
}

bool FileSet::has(std::string_view name) const {
  return std::binary_search(names_.begin(), names_.end(), name);
}

std::optional<std::string> FileSet::find(const std::string& stem,
                                         std::initializer_list<std::string_view> extensions) const {
  for (const std::string_view extension : extensions) {
    std::string name = stem + std::string(extension);
    if (has(name)) return name;
  }
  return std::nullopt;
}

std::vector<std::string> FileSet::below(std::string_view folder) const {
  std::vector<std::string> found;
  for (const std::string& name : names_)
    if (name.starts_with(folder)) found.push_back(name);
  return found;
}

std::optional<std::string> FileSet::folder_of(std::string_view ending) const {
  for (const std::string& name : names_) {
    if (!name.ends_with(ending)) continue;
    std::string folder = name.substr(0, name.size() - ending.size());
    if (folder.empty() || folder.back() == '/') return folder;
  }
  return std::nullopt;
}

// MatrixMarket files come under many names. Not looked for where there are very many files.
bool FileSet::begins_with_banner(const std::string& name) const {
  constexpr std::size_t kMostLookedInto = 100;
  if (names_.size() > kMostLookedInto) return false;
  try {
    const std::vector<std::string> front = lines_of(name, 1);  // it was not looked at for that
    return !front.empty() && parse_market_banner(front[0]).has_value();
  } catch (const Error&) {
    return false;  // not even text
  }
}

std::string FileSet::format_of(const std::string& name) const {
  try {
    return formats_->resolve(name, "auto");
  } catch (const Error&) {
    return begins_with_banner(name) ? "mtx" : "";  // no table otherwise: for the caller to judge
  }
}

std::unique_ptr<TableReader> FileSet::open(const std::string& name,
                                           const std::string& format,
                                           const TableOptions& options) const {
  note(TablePath::parse(root_ / name).table.empty() ? name : name.substr(0, name.rfind('#')));
  return formats_->open({root_ / name, ledger_, arena_}, format, options);
}

std::vector<std::string> FileSet::first_lines(const std::string& name, std::size_t most) const {
  note(name);
  return lines_of(name, most);
}

std::vector<std::string> FileSet::lines_of(const std::string& name, std::size_t most) const {
  constexpr std::size_t kMostBytes = 256 * 1024;
  std::string text(kMostBytes, '\0');
  const auto source = TextSource::open(shards_of(root_ / name).front(), ledger_);
  text.resize(source->read(std::as_writable_bytes(std::span(text))));
  const bool whole = text.size() < kMostBytes;
  const std::size_t mark = check_encoding(text, (root_ / name).string());
  std::vector<std::string> lines;
  for (std::size_t at = mark; at < text.size() && lines.size() < most;) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos && !whole) break;
    std::string line = text.substr(at, end == std::string::npos ? end : end - at);
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return lines;
}

std::string FileSet::read_small(const std::string& name) const {
  constexpr std::uint64_t kMostBytes = 16 << 20;
  note(name);
  return read_text_file(root_ / name, kMostBytes).or_throw();
}

std::vector<std::string> FileSet::files_of(const std::string& name) const {
  if (has(name)) return {name};
  std::vector<std::string> files;
  try {
    const Shards shards = find_shards(TablePath::parse(root_ / name).file);
    for (const auto* paths : {&shards.files, &shards.empty})
      for (const fs::path& path : *paths)
        files.push_back(
            path.lexically_normal().lexically_relative(root_.lexically_normal()).generic_string());
  } catch (const Error&) {
    return {};  // there are none
  }
  return files;
}

void FileSet::note(const std::string& name) const {
  for (std::string& file : files_of(name)) looked_.insert(std::move(file));
}

std::string base_name(std::string_view name) {
  const auto slash = name.rfind('/');
  return std::string(slash == std::string_view::npos ? name : name.substr(slash + 1));
}

std::string stem_of(std::string_view name) {
  fs::path path = base_name(name);
  if (is_compressed_name(path)) path.replace_extension();
  return path.stem().string();
}

}  // namespace sluice
