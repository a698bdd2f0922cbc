// Relations: what the tables of edges become. Private to src/prep/import.
#pragma once

#include "prep/import/import.h"
#include "prep/import/spooled_table.h"

#include <vector>

namespace sluice {

/// Writes the relations of an [[edges]], as stages of the writer: one, one a type, and the reverse
/// of each. @param table of the [[edges]]; null: it is read as it is. Given back when it is done
/// with
void import_relations(ImportContext& context,
                      const EdgeSpec& spec,
                      std::unique_ptr<SpooledTable> table,
                      std::vector<RelationImport>& report);

}  // namespace sluice
