// Sparse feature rows: a count, so many columns, and so many values, in room for a fixed number of
// entries. The layout is FORMAT.md's. An element is an entry unless all its bits are 0, so that
// what comes back is what was given, -0 too. Pure; the caller splits rows over threads.
#pragma once

#include <sluice/graph_schema.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// The most entries that a row has, of dense rows of `dim` floats.
/// @pre is_feature_float(dtype), here and below
std::uint32_t most_entries(DType dtype, std::uint32_t dim, std::span<const std::byte> dense);

/// Stores dense rows as sparse ones.
/// @param out sparse_row_bytes(dtype, dim, entries) bytes a row
/// @return index of the first row that has more entries than there is room for, or the number of
///   rows; that row and those behind it are not stored
std::size_t store_sparse_rows(DType dtype,
                              std::uint32_t dim,
                              std::uint32_t entries,
                              std::span<const std::byte> dense,
                              std::span<std::byte> out);

/// A stored row with all its zeros, as f64. @param row as the table stores it @pre table.sparse(),
/// out holds table.dim elements
void read_sparse_row(const FeatureSchema& table,
                     std::span<const std::byte> row,
                     std::span<double> out);

}  // namespace sluice
