// How one budget is shared out over caches of rows of several tables, where each keeps the rows
// that are used most. Pure functions.
//
// A table's rows are told by how often they are used (f), what a miss costs (p) and what a cached
// row takes (s). `ranked_rows` is the rule of METHODS: all rows of all tables by f * p / s. It
// saves the most time a byte; what it misses costs no more than with the other splits here, which
// are there to be compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace sluice {

/// Rows of a table by how often they are used: how many rows have so many uses; most first.
using RowsByUses = std::map<std::uint32_t, std::uint64_t, std::greater<>>;

/// Counts the rows, one for each element. Takes memory for each different number of uses.
RowsByUses rows_by_uses(std::span<const std::uint32_t> uses);

struct CachedTable {
  RowsByUses uses;
  double miss_seconds = 0;       ///< a row that is not cached, each time it is used
  std::uint64_t row_bytes = 1;   ///< that a cached row takes, 1 at least
  std::uint64_t least_rows = 0;  ///< that its cache has in any case

  std::uint64_t rows() const;
};

/// Seconds of misses of tables that cache so many rows each: the most used ones.
double miss_seconds(std::span<const CachedTable> tables, std::span<const std::uint64_t> cached);

/// Rows that each table caches, by f * p / s over all rows of all tables; a row that does not fit
/// makes way for smaller ones behind it. Where another split here misses less, as a large row that
/// just did not fit may do, it is that one.
/// @pre the least rows of all tables fit into `bytes`, here and below
std::vector<std::uint64_t> ranked_rows(std::span<const CachedTable> tables, std::uint64_t bytes);

/// Each table by what its misses would cost without a cache (Heta's rule). What a table has no rows
/// for goes to the others.
std::vector<std::uint64_t> proportional_rows(std::span<const CachedTable> tables,
                                             std::uint64_t bytes);

/// Beyond the least rows of all, one table alone has a cache.
std::vector<std::uint64_t> single_table_rows(std::span<const CachedTable> tables,
                                             std::size_t table,
                                             std::uint64_t bytes);

}  // namespace sluice
