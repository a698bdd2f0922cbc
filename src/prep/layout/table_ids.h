// Ids that tables have in common: whether a column holds the ids of another table's edges. What
// FilesLayout tells tables of nodes by.
#pragma once

#include "prep/layout/file_set.h"

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace sluice {

/// The ids at an end of edges, as texts; of long tables the first.
struct IdSample {
  std::unordered_set<std::string> ids;
  bool whole = true;
};

/// A column of a file; the file as a layout describes it.
struct TableColumn {
  std::string file;
  std::string format;
  std::string column;
};

/// Adds the ids of a column, or of an array of pairs.
void sample_ids(const FileSet& files,
                const TableOptions& options,
                const TableColumn& column,
                IdSample& sample);

/// How much of some ids a column holds.
struct IdShare {
  std::uint64_t found = 0;
  std::uint64_t ids = 0;
  bool once = true;  ///< none of them stands twice

  double share() const {
    return ids == 0 ? 0 : static_cast<double>(found) / static_cast<double>(ids);
  }
  /// (Nearly) all of them.
  bool nearly_all() const { return once && ids != 0 && share() >= 0.95; }
  bool all() const { return once && found == ids && ids != 0; }
  /// "all 4", or "3 of the 4".
  std::string text() const;
};

/// Reads the column to its end, or so far as is worth it. One share a sample.
std::vector<IdShare> shares_of(const FileSet& files,
                               const TableOptions& options,
                               const TableColumn& column,
                               const std::vector<const IdSample*>& samples);

}  // namespace sluice
