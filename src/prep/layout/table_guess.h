// What a file of edges is like: its format, whether it has a header, and what its columns are. By
// names where there are some, else by the first rows. Part of FilesLayout.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/layout/glance.h"

#include <string>
#include <vector>

namespace sluice {

/// How a text is read.
struct TextGuess {
  std::string format = "auto";
  std::string options;  ///< of the format, as TOML lines; empty: its defaults
  std::string why;      ///< empty: nothing had to be guessed
  bool unsure = false;  ///< whether the first line names columns, as all lines are words
};

/// For any file; "auto" for those that are no text. An empty format: it is no table.
TextGuess guess_text(const FileSet& files, const std::string& name);

/// How sure it is that a table holds edges.
enum class EdgeSigns {
  kPlaces,  ///< two columns in front may be ids, as in many tables
  kNames    ///< its columns are called so, or it is an array of pairs, or a format of edges
};

/// What a column with the words Directed and Undirected says, as Gephi writes it.
enum class Directions { kUnsaid, kDirected, kUndirected, kBoth };

/// The columns of a table of edges, and what they hold.
struct EdgeGuess {
  std::string file;
  std::string format = "auto";
  std::string table;  ///< of a file that holds several
  std::string source, target, type, time, weight, label;
  double time_scale = 0;
  TickUnit time_unit = TickUnit::kStored;
  EdgeSigns signs = EdgeSigns::kPlaces;
  Directions directions = Directions::kUnsaid;
  LabelSpec label_kind;   ///< of `label`
  std::string label_why;  ///< of its kind, where that is not plain to see
  std::string why;        ///< how the columns were told
  std::string doubt;      ///< what was not told
  TableGlance glance;
  std::vector<std::size_t> source_at, target_at;  ///< where the glance has the ids

  bool found() const { return !source_at.empty(); }
};

/// @param options as guess_text has them, set
EdgeGuess guess_edges(const FileSet& files,
                      const std::string& name,
                      const std::string& format,
                      const TableOptions& options);

/// That the ids of a column are floats.
Error points_error(const FileSet& files, const std::string& file, const std::string& column);

/// Throws Error(kData) for what is found by names alone and could not be imported: no rows, or ids
/// that are floats.
void check_ends(const FileSet& files, const EdgeGuess& guess);

}  // namespace sluice
