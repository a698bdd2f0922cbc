// Ids of text that look like something else than ids. Private to src/prep.
#pragma once

#include "prep/import/import_context.h"

#include <cstdint>

namespace sluice {

/// Warns where the first line of a CSV was taken for names of columns, and names ids all the same:
/// it may be a row. @pre all ids are known
void say_header_ids(const ImportContext& context, const EdgeSpec& edge);

/// Warns where the first row of a text without names may be a number of nodes and one of edges.
/// @param rows that the file has
void say_size_row(const ImportContext& context, const EdgeSpec& edge, std::uint64_t rows);

/// As say_header_ids of all edges and of splits; and of ids that are words for a missing value.
void say_odd_ids(const ImportContext& context);

}  // namespace sluice
