// FeatureGroups: which tables of features a reader asks for, by name; an empty name stands for the
// first that a node type or relation has. One without a group of that name has no such table.
#pragma once

#include <sluice/graph_schema.h>

#include <string>
#include <vector>

namespace sluice {

struct FeatureGroups {
  std::vector<std::string> nodes{""};
  std::vector<std::string> edges{};
};

/// Null where there is none.
const FeatureSchema* find_group(const std::vector<FeatureSchema>& tables, const std::string& name);

/// All that is asked for: node types' first, each in the schema's order.
std::vector<const FeatureSchema*> wanted_features(const GraphSchema& schema,
                                                  const FeatureGroups& groups);

}  // namespace sluice
