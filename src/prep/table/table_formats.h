// TableFormats: the table formats by name and by file extension. Filled in one place
// (src/registry/core.cpp), one line a format; handed to the importers by reference. Immutable after
// that, and then thread-safe.
#pragma once

#include "prep/table/table_reader.h"

#include <sluice/catalog.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// Options by format name, as the user set them; formats that are not in it read with their
/// defaults.
using TableOptions = std::map<std::string, std::shared_ptr<AnyOptions>>;

/// A table as users name it: a file, or one of the tables in a file, "graphs.txt#nodes".
struct TablePath {
  std::filesystem::path file;
  std::string table;

  /// What is behind the last '#' is the table's name, unless a file is called so.
  static TablePath parse(const std::filesystem::path& name);
};

/// A file that a graph.toml names, as a format sees it.
struct TableUse {
  std::filesystem::path path;
  std::string role;  ///< what it is for: "edges", "splits", "features.file", ...
};

class TableFormats {
 public:
  /// Adds `Reader`, which has `struct Options`, a constructor Reader(Options, const TableSource&)
  /// and `kExtensions`; and `kText` where its files may be compressed (".csv.gz").
  template <class Reader>
  void add(std::string name, std::string help) {
    for (const std::string_view extension : Reader::kExtensions) {
      extensions_.emplace_back(extension, name);
      if constexpr (requires { Reader::kText; }) texts_.insert(name);
    }
    if constexpr (requires { Reader::kEdgesOnly; }) edges_only_.insert(name);
    if constexpr (requires { &Reader::doubts; }) {
      doubts_[name] = [](AnyOptions& options, std::span<const TableUse> uses) {
        Schema schema;
        options.describe(schema);
        typename Reader::Options own;
        Config::parse(schema.dump(), "options of a format").bind_to(own);
        return Reader::doubts(own, uses);
      };
    }
    catalog_.add<Reader>(std::move(name), std::move(help));
  }

  const OptionsCatalog& catalog() const { return catalog_; }

  /// The format that reads `path`: `format` itself unless that is "auto", else by extension. Throws
  /// Error(kUsage) for an unknown name or extension.
  std::string resolve(const std::filesystem::path& path, const std::string& format) const;

  /// Whether files of this format hold edges and nothing else.
  bool edges_only(const std::string& format) const { return edges_only_.contains(format); }

  /// What is doubtful about reading these files as the options say, a sentence each; nothing where
  /// the format has no opinion. Throws Error(kUsage) for options that cannot be meant so.
  std::vector<std::string> doubts(const std::string& format,
                                  const TableOptions& options,
                                  std::span<const TableUse> uses) const;

  /// Opens a table; `source.path` is as users name it (TablePath), and may be many files that are
  /// one table (shards_of). This outlives the reader. Throws Error(kData) when there is no such
  /// file.
  std::unique_ptr<TableReader> open(const TableSource& source,
                                    const std::string& format,
                                    const TableOptions& options) const;

 private:
  std::unique_ptr<TableReader> open_one(const TableSource& source,
                                        const std::string& format,
                                        const TableOptions& options) const;

  using Doubts = std::vector<std::string> (*)(AnyOptions&, std::span<const TableUse>);

  Catalog<TableReader, const TableSource&> catalog_{"table format"};
  std::vector<std::pair<std::string, std::string>> extensions_;  // ".csv" -> "csv"
  std::set<std::string> texts_;                                  // formats of text
  std::set<std::string> edges_only_;                             // formats of edges alone
  std::map<std::string, Doubts> doubts_;                         // by format
};

}  // namespace sluice
