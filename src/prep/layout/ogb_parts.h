// What OGB's forms share. Private to src/prep/layout.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/layout/layout.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// The whole numbers of a file of one column without a header, `most` of them at most.
std::vector<std::int64_t> read_ogb_numbers(const FileSet& files,
                                           const Description& made,
                                           const std::string& file,
                                           std::size_t most);

/// Labels that stand in a CSV file, one row each. @param where the table, for comments:
/// "nodes[0].labels"
void set_ogb_labels(const FileSet& files,
                    Description& made,
                    const std::string& file,
                    LabelSpec& labels,
                    const std::string& where);

/// The splits in `folder`: split/<scheme>/{train,valid,test}, and split/<scheme>/<type>/... where
/// types are told apart.
void add_ogb_splits(const FileSet& files, Description& made, const std::string& folder, SplitOf of);

/// Several node types, in CSV files. @param folder that of raw/ and split/
void describe_ogb_hetero(const FileSet& files, const std::string& folder, Description& made);

/// One node type, in raw/data.npz.
void describe_ogb_arrays(const FileSet& files, const std::string& folder, Description& made);

}  // namespace sluice
