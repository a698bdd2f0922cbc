// What a graph.toml leaves to the places of columns, settled before anything is read: an index in
// front is no id, an id is no feature, and rows that stand beside ids go by them. Whatever is taken
// otherwise than by the plain places, or left out, is said; parts that are passed over, too.
// Private to src/prep.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/prep_context.h"

#include <filesystem>

namespace sluice {

/// Names in `spec` the columns that are not those of the plain places. Tables that cannot be opened
/// are left to those who read them. Throws Error(kData) where two readings of a table are possible
/// and nothing tells. @pre complete_spec()
void settle_places(GraphSpec& spec,
                   const TableFormats& formats,
                   const std::filesystem::path& root,
                   PrepContext& context);

}  // namespace sluice
