// What settle_places() looks at tables with, and how their columns fall into those that number rows
// and the rest. Private to src/prep/import.
#pragma once

#include "prep/import/column_peek.h"
#include "prep/import/graph_spec.h"
#include "prep/prep_context.h"
#include "prep/table/table_formats.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

class PlacesLook {
 public:
  /// All outlive this.
  PlacesLook(const TableOptions& options,
             const TableFormats& formats,
             std::filesystem::path root,
             PrepContext& context)
      : options_(options), formats_(formats), root_(std::move(root)), context_(context) {}

  /// Null: its columns have meanings of their own, or it cannot be opened, which those who read it
  /// say better.
  std::unique_ptr<TableReader> open(const std::string& file, const std::string& format) const;
  /// The format that a file is read as; empty where none is known.
  std::string format_of(const std::string& file, const std::string& format) const;
  /// Of what cannot be read, nothing is true.
  ColumnPeek peek(const std::string& file,
                  const std::string& format,
                  const std::string& column,
                  std::uint64_t rows = 1 << 16) const;

  /// Says what of many files is passed over, and in which order they are read.
  void say_parts(const std::string& file) const;

  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) const {
    context_.log.warn("{}", fmt::format(text, std::forward<Args>(args)...));
  }
  std::filesystem::path path_of(const std::string& file) const { return root_ / file; }
  std::uint64_t parts_of(const std::string& file) const;

 private:
  const TableOptions& options_;
  const TableFormats& formats_;
  std::filesystem::path root_;
  PrepContext& context_;
};

/// The columns that number the rows of a table, and the rest.
struct SortedColumns {
  std::vector<std::string> rest, index;
  std::string id;  ///< the first that holds ids; empty: none
};

/// @param known_id the name of the ids; empty: by the names that they usually have
SortedColumns sort_columns(const std::vector<ColumnInfo>& columns, const std::string& known_id);

/// "'a', 'b'".
std::string quoted_names(const std::vector<std::string>& names);

/// The ends of edges, arrays of pairs, and features beside edges: settle_edges.cpp.
void settle_edge(EdgeSpec& edge, const PlacesLook& look);
void settle_edge_split(SplitSpec& split, const PlacesLook& look);

}  // namespace sluice
