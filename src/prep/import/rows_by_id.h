// Rows that stand under ids in any order, put into the order of the nodes: what features and times
// with an id_column are read through. All of the table is gathered in memory, charged to the
// ledger. Private to src/prep/import.
#pragma once

#include "prep/import/import_context.h"

#include <string>

namespace sluice {

struct RowsById {
  std::string file;
  std::string format;
  std::string id_column;  ///< empty: the rows stand in their order
};

/// Has the target's table ordered by its ids, where it has some. Every node needs one row; where
/// nobody has counted the nodes yet, there are as many as rows. `context` and `node` outlive the
/// target.
void order_by_id(RowTarget& target, ImportContext& context, NodeState& node, const RowsById& rows);

}  // namespace sluice
