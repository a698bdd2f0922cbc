// A layer that wants of neighbours a mean or a maximum: what targets get of each relation is made
// first (list_rows.h), then targets go by with their own rows beside it.
#pragma once

#include "train/layer_pass.h"
#include "train/layer_work.h"

namespace sluice {

/// @param rows that the layer reads, by node type @param made gets what it writes; null of a type
/// that is not wanted. Throws Error.
void pass_by_lists(const LayerWork& work,
                   const NodeTables& rows,
                   NodeTables& made,
                   LayerFigures& figure);

}  // namespace sluice
