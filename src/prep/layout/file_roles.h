// What files are for, by their names: features, labels, parts of splits, relations, or others that
// may hold edges. Part of FilesLayout. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct FileRole {
  enum class Kind {
    kOther,
    kFeatures,
    kLabels,
    kTimes,
    kSplit,
    kMask,      ///< a split as a truth value a node
    kRelation,  ///< "paper__author.csv"
    kIgnored    ///< README.md and the like
  };

  Kind kind = Kind::kOther;
  std::string file;
  std::string of;    ///< features, labels, times: the node type, where the name has it; empty: none
  std::string part;  ///< a split: "train", "valid" or "test"
  std::string split;                     ///< its name; empty: none
  std::string source, relation, target;  ///< a relation; its name may be empty
};

FileRole role_of(const std::string& file);

}  // namespace sluice
