// FileSet: what a user named on the command line, a folder or some files, as names below one root.
// Layouts look at it to tell what it is. Used by one thread.
#pragma once

#include "prep/table/table_formats.h"

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class FileSet {
 public:
  /// @param paths folders (all in them counts, at any depth and behind links; names that begin with
  /// '.' or '_' do not) and files
  /// @param base what paths are relative to, and then the root; empty: the root is the folder, or
  /// the one that all files are in
  /// @param formats, ledger, arena outlive this
  FileSet(const std::vector<std::string>& paths,
          const std::filesystem::path& base,
          const TableFormats& formats,
          MemoryLedger& ledger,
          ThreadArena& arena);

  /// The folder that names are relative to, as the user named it.
  const std::filesystem::path& root() const { return root_; }
  /// All files, sorted, with '/' between folders.
  const std::vector<std::string>& names() const { return names_; }
  bool has(std::string_view name) const;
  /// The first of the files `stem` + extension; nothing where there is none.
  std::optional<std::string> find(const std::string& stem,
                                  std::initializer_list<std::string_view> extensions) const;
  /// The CSV file of that name, compressed or plain.
  std::optional<std::string> find_csv(const std::string& stem) const {
    return find(stem, {".csv.gz", ".csv", ".csv.zst"});
  }
  /// The names below a folder, "split/", or all for "".
  std::vector<std::string> below(std::string_view folder) const;
  /// The folder of the first name that ends so, "a/b/" of "a/b/raw/edge.csv" for "raw/edge.csv".
  std::optional<std::string> folder_of(std::string_view ending) const;

  const TableFormats& formats() const { return *formats_; }
  MemoryLedger& ledger() const { return *ledger_; }
  /// The format by a file's extension, or by its first line; empty where none is known.
  std::string format_of(const std::string& name) const;
  std::unique_ptr<TableReader> open(const std::string& name,
                                    const std::string& format,
                                    const TableOptions& options) const;
  /// The first lines of a text file, plain or compressed; less where they are long. Of parts, the
  /// first one's.
  std::vector<std::string> first_lines(const std::string& name, std::size_t most) const;
  /// All of a small text file. Throws Error(kData) where it is not small.
  std::string read_small(const std::string& name) const;
  /// Whether any of a file was looked at so far, by itself or as a part.
  bool looked_at(const std::string& name) const { return looked_.contains(name); }
  /// A name, or a pattern, as names of files.
  std::vector<std::string> files_of(const std::string& name) const;

 private:
  std::vector<std::string> lines_of(const std::string& name, std::size_t most) const;
  void note(const std::string& name) const;
  bool begins_with_banner(const std::string& name) const;

  std::filesystem::path root_;
  std::vector<std::string> names_;
  const TableFormats* formats_;
  MemoryLedger* ledger_;
  ThreadArena* arena_;
  mutable std::set<std::string> looked_;
};

/// The last part of a name, and that part without the extensions of text: "edge" of
/// "raw/edge.csv.gz".
std::string base_name(std::string_view name);
std::string stem_of(std::string_view name);

}  // namespace sluice
