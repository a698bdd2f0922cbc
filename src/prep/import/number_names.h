// What numbers in other files are called: entity2id.txt, relations.txt and the like. Private to
// src/prep/import.
#pragma once

#include "prep/import/import_context.h"
#include "prep/import/spooled_table.h"

namespace sluice {

/// Reads what the nodes of a type are called: their ids from then on, and their count.
/// @pre the spec has names
void import_node_names(ImportContext& context, NodeState& node);

/// What the types of an [[edges]] are called, by number. Empty: they are called as they stand.
std::vector<std::string> read_type_names(const ImportContext& context, const EdgeSpec& edge);

/// Calls the types of a table by their names. @pre type_names begins with the texts of the numbers
/// from 0 on, one a name
void name_types(SpooledTable& table, std::vector<std::string> names, const EdgeSpec& edge);

}  // namespace sluice
