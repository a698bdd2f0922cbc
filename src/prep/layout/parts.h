// Parts: files that are one table together, as their names tell: "edges/part-00000.csv" and so on,
// "feat_0.npy" to "feat_10.npy", and the folders "type=likes" that Spark and others write. Part of
// FilesLayout.
#pragma once

#include "prep/layout/file_set.h"

#include <string>
#include <vector>

namespace sluice {

/// A table that one file or several hold.
struct TableFiles {
  std::string file;                ///< one, or a pattern that matches all of them and no others
  std::string name;                ///< by which it is told what it is for: "edges.csv"
  std::vector<std::string> parts;  ///< none: it is one file
  std::string folder;              ///< above the folders KEY=VALUE; empty: there are none
  std::vector<std::string> keys, values;  ///< of those folders
  std::string why;                        ///< parts: how they were told
};

/// All files of the set, parts put together.
std::vector<TableFiles> find_tables(const FileSet& files);

/// One table of those of the same folder above KEY=VALUE; their file is empty where no pattern
/// matches them alone.
TableFiles joined_folders(const FileSet& files, const std::vector<TableFiles>& tables);

}  // namespace sluice
