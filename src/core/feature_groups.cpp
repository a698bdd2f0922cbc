#include "core/feature_groups.h"

#include <algorithm>

namespace sluice {

const FeatureSchema* find_group(const std::vector<FeatureSchema>& tables, const std::string& name) {
  if (name.empty()) return tables.empty() ? nullptr : &tables.front();
  const auto found = std::ranges::find(tables, name, &FeatureSchema::name);
  return found == tables.end() ? nullptr : &*found;
}

std::vector<const FeatureSchema*> wanted_features(const GraphSchema& schema,
                                                  const FeatureGroups& groups) {
  std::vector<const FeatureSchema*> all;
  const auto add = [&all](const auto& owners, const std::vector<std::string>& names) {
    for (const auto& owner : owners)
      for (const std::string& name : names)
        if (const FeatureSchema* const table = find_group(owner.features, name))
          all.push_back(table);
  };
  add(schema.nodes, groups.nodes);
  add(schema.relations, groups.edges);
  return all;
}

}  // namespace sluice
