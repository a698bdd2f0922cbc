// Ids of text that look like something else than ids. Private to src/prep.
#pragma once

#include "prep/import/import_context.h"

namespace sluice {

/// Warns where the first line of a CSV was taken for names of columns, and names ids all the same:
/// it may be a row. @pre all ids are known
void say_header_ids(const ImportContext& context, const EdgeSpec& edge);

/// The same of lists of ids and of splits, and of ids that are words for a missing value.
void say_odd_ids(const ImportContext& context);

}  // namespace sluice
