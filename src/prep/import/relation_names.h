// The names of the relations that types of edges make: folders of the dataset. Private to
// src/prep/import.
#pragma once

#include "prep/import/graph_spec.h"

#include <map>
#include <string>
#include <vector>

namespace sluice {

/// A name for the relation of each type, by the type's own: that name, where it is one for a
/// folder, else one as near as can be. Types that would have the same one get a hash of their own
/// behind it; other [[edges]] keep their names. Depends on the set of types alone.
std::map<std::string, std::string> relation_names(const GraphSpec& spec,
                                                  const EdgeSpec& edge,
                                                  const std::vector<std::string>& types);

/// That of the same edges the other way round.
std::string reverse_relation_name(const EdgeSpec& edge, const std::string& name);

}  // namespace sluice
