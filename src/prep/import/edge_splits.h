// Splits of edges: rows that stand apart from the relations, and ids of one relation's edges.
// Private to src/prep/import.
#pragma once

#include "prep/import/spooled_table.h"

#include <array>
#include <memory>

namespace sluice {

/// Writes the rows of a split's files. @pre the relations are written
void write_edge_rows(ImportContext& context,
                     const SplitSpec& split,
                     const std::array<std::unique_ptr<SpooledTable>, 3>& parts);

/// Draws a split by ratio from the edges of a relation that was just written, one by one, or cuts
/// them by their times: edges of the same time are never parted.
/// @param table of the edges, in the order of their times; null: there are no times
/// @param training out: the edges of the train part; may be null
void draw_edge_split(ImportContext& context,
                     const SplitSpec& split,
                     const RelationSchema& relation,
                     const SpooledTable* table,
                     NodeBits* training);

}  // namespace sluice
