// Node types by number: relations and splits name them.
#pragma once

#include <sluice/graph_schema.h>

#include <cstddef>
#include <string_view>

namespace sluice {

/// Index into GraphSchema::nodes. Throws kInternal for a type that the schema lacks.
std::size_t type_index(const GraphSchema& schema, std::string_view name);

}  // namespace sluice
