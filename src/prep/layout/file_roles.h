// What files are for, by their names: features, labels, parts of splits, relations, or others that
// may hold edges. Part of FilesLayout. Pure functions.
#pragma once

#include <string>

namespace sluice {

struct FileRole {
  enum class Kind {
    kOther,
    kFeatures,
    kLabels,
    kTimes,
    kSplit,
    kSplitLabels,   ///< a label for each id of a part: "y_train", "train_labels"
    kPartialGraph,  ///< the edges among a part's nodes alone: "adj_train"
    kMask,          ///< a split as a truth value a node
    kRelation,      ///< "paper__author.csv"
    kUnread         ///< of no format that is known, or no data at all
  };

  Kind kind = Kind::kOther;
  std::string file;   ///< or a pattern, of parts
  std::string name;   ///< by which it was told
  std::string value;  ///< of folders KEY=VALUE above it, as a name; empty: there are none
  std::string of;    ///< features, labels, times: the node type, where the name has it; empty: none
  std::string part;  ///< a split: "train", "valid" or "test"
  std::string split;                     ///< its name; empty: none
  std::string source, relation, target;  ///< a relation; its name may be empty
};

FileRole role_of(const std::string& file);

/// Whether a file's name speaks of edges, or of a table of nodes.
bool says_edges(const std::string& name);
bool says_nodes(const std::string& name);

}  // namespace sluice
