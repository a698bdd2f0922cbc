#include "core/type_index.h"

#include <sluice/error.h>

#include <fmt/format.h>

namespace sluice {

std::size_t type_index(const GraphSchema& schema, std::string_view name) {
  if (const NodeTypeSchema* const found = schema.node_type(name))
    return static_cast<std::size_t>(found - schema.nodes.data());
  throw Error(ErrorCode::kInternal,
              fmt::format("the node type '{}' is named, and the schema lacks it", name));
}

}  // namespace sluice
