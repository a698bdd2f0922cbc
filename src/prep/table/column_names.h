// What names of columns say, whoever wrote the table: an index, an id, the two ends of an edge.
// Pure functions.
#pragma once

#include "prep/table/table_values.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// In lower case, as names are compared.
std::string lower_name(std::string_view name);

/// An index that a program wrote beside the columns: without a name in the first place, or as
/// pandas, Arrow and R name it.
bool is_index_name(const std::string& name, std::size_t place);

/// "id", "node_id" and the like: the id of what a row is of.
bool is_id_name(const std::string& name);
/// The same, and in the first place "user_id" or "movieId" too.
bool is_id_name(const std::string& name, std::size_t place);
/// "id", "edge_id" and the like: the number of an edge, which is neither of its ends.
bool is_edge_id_name(const std::string& name);

/// Ends in "id" as a word of its own: "user_id", "movieId".
bool ends_in_id(const std::string& name);

/// Whether an array is called edge_index, alone or as a part of its name: it is [2, E] then.
bool says_edge_index(const std::string& name);

/// The places of the two columns that names say are source and target ("src" and "dst", "head" and
/// "tail"); nothing where names do not say it.
std::optional<std::pair<std::size_t, std::size_t>> ends_by_name(
    const std::vector<ColumnInfo>& columns);

}  // namespace sluice
