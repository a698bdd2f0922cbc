// Whether the edges of a relation stand both ways. Private to src/prep/update.
#pragma once

#include <sluice/graph_schema.h>

#include <filesystem>

namespace sluice {

/// Whether each of the first edges between two nodes, a few dozen, is there the other way round as
/// well; false where there is none, or where the files cannot be read. Appended edges do not count.
bool first_edges_stand_both_ways(const std::filesystem::path& dataset,
                                 const GraphSchema& schema,
                                 const RelationSchema& relation);

}  // namespace sluice
