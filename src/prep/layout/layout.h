// Layout: a way in which data sets lie in folders, OGB's or TU's say. Recognises what a user named
// and describes it as a GraphSpec, so that no graph.toml has to be written by hand.
//
// One file pair a layout, one line in src/registry/core.cpp, which also says in which order they
// are asked. Stateless; used by one thread.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/import/spec_toml.h"
#include "prep/layout/file_set.h"

#include <sluice/catalog.h>

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// What a layout made of some files.
struct Description {
  explicit Description(const FileSet& files) : spec(files.formats()), formats(&files.formats()) {}

  GraphSpec spec;
  SpecComments comments;
  std::vector<std::string> warnings;  ///< what is there and cannot be imported, one each

  /// Sets keys of a format's table: set_format("csv", "header = \"no\"").
  void set_format(const std::string& format, const std::string& toml);
  /// Says why a key stands there, behind what was said before; an empty text says nothing.
  void comment(const std::string& where, const std::string& text);
  /// A line of TOML that could be a key of a table, or stand behind it; or one that says so.
  void offer(const std::string& table, std::string line) {
    comments.offers[table].push_back(std::move(line));
  }
  void warn(std::string text) { warnings.push_back(std::move(text)); }

 private:
  const TableFormats* formats;
};

class Layout {
 public:
  /// Layouts have no options of their own yet.
  struct Options {
    void describe(Schema& /*schema*/) {}
  };

  virtual ~Layout() = default;
  /// By what the files are known to be of this layout, "it has raw/edge.csv.gz"; nothing where they
  /// are not. Looks at names, and into a few files at most.
  virtual std::optional<std::string> recognise(const FileSet& files) const = 0;
  /// Throws Error where the files cannot be described. @pre recognise() found a reason
  virtual Description describe(const FileSet& files) const = 0;
};

using Layouts = Catalog<Layout>;

/// Describes files by the layout of that name, or for "auto" by the first that recognises them. The
/// comments say which, and why.
Description describe_files(const Layouts& layouts, const std::string& name, const FileSet& files);

/// A name as node types and relations may have it, as near as can be.
std::string plain_name(const std::string& name);

}  // namespace sluice
