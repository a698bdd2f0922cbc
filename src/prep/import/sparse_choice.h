// Whether the rows of a feature table are stored sparse, and with room for how many entries each.
// Private to src/prep/import.
#pragma once

#include "prep/import/import_context.h"

#include <cstdint>

namespace sluice {

/// Entries that a row gets room for: as many as the fullest has; 0: rows are stored dense. Where
/// they may be sparse it reads the table once more. Rows behind those that are there are stored as
/// these are.
std::uint32_t choose_entries(ImportContext& context,
                             const FeatureSpec& spec,
                             const RowTarget& target);

}  // namespace sluice
