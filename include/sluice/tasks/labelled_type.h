// Which node type a node task is about.
#pragma once

#include <sluice/graph_schema.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace sluice::tasks {

/// Index of the node type called `node_type`, or, when that is empty, of the only one with labels
/// of one of `kinds`. Throws kUsage where there is none, or more than one to choose from.
std::size_t labelled_type(const GraphSchema& schema,
                          std::string_view node_type,
                          const std::vector<LabelKind>& kinds,
                          std::string_view task);

}  // namespace sluice::tasks
