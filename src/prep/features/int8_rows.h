// int8 feature rows: an f32 scale and a signed byte q an element, of the value scale * q. The
// layout is FORMAT.md's. Pure; the caller splits rows over threads.
#pragma once

#include <sluice/dtype.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

/// Stores rows of `dim` elements of dtype `from` as int8: scale = max|x| / 127 (0 for a row of
/// zeros) and q = x / scale, rounded.
/// @param draws null: to nearest, ties to even, an error of at most scale / 2. Else up or down at
///   random with the mean of x, an error below scale; row r and column c decide the draw, nothing
///   else does.
/// @param first_row of the table: the row that `in` begins with
/// @return index of the first element that int8 cannot hold (NaN, infinite, beyond f32), or the
///   number of elements; the rows that hold such elements are zeros
/// @pre out holds feature_row_bytes(kI8, dim) bytes a row
std::size_t store_int8_rows(DType from,
                            std::span<const std::byte> in,
                            std::uint32_t dim,
                            std::uint64_t first_row,
                            const std::optional<RandomKey>& draws,
                            std::span<std::byte> out);

}  // namespace sluice
