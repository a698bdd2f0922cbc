// What a guess proposes for columns of features: missing values filled, scales that differ named.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/layout/glance.h"
#include "prep/layout/layout.h"

#include <string>

namespace sluice {

/// Looks at the columns of a table that `features` takes. Cells that are missing become the mean,
/// so that the table can be imported, and a comment says so; columns of very different scale are
/// named in a comment on `scale`, which stays as it is. Arrays are left alone.
/// @param path of the table of features, for comments: "nodes[0].features"
void guess_scaling(const TableGlance& glance,
                   FeatureSpec& features,
                   const std::string& path,
                   Description& made);

}  // namespace sluice
