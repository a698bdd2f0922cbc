// Feature tables that come to a node type of a dataset: what they may be called, and all else taken
// over. Shared by attach and propagate.
#pragma once

#include "prep/update/generation.h"

#include <sluice/graph_schema.h>

#include <span>
#include <string>

namespace sluice {

/// Throws Error: kUsage for a name whose file is not a feature table's in a node type's folder
/// (labels, ids, times), and for one that is no name.
void check_table_name(const std::string& name);

/// Takes over everything but the tables' files, which are the caller's to write. Adds all schemas,
/// each of `tables` in the place of one of its name, else behind the others: where several are
/// there, the first is what a type's features are by default.
void keep_beside(NextGeneration& next,
                 const std::string& node_type,
                 std::span<const FeatureSchema> tables);

}  // namespace sluice
