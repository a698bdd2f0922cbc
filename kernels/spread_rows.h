// spread_rows: rows of a sparse feature table as dense f32 rows, on their way into a batch.
#pragma once

#include "kernels/views.h"

#include <sluice/dtype.h>
#include <sluice/executor.h>

#include <cstddef>
#include <cstdint>

namespace sluice::kernels {

/// out[i, c] = the value that the sparse row at rows[i] has for column c, 0 where it has none. Rows
/// may lie at any address; each is a count, so many columns, and so many values
/// (storage/format/FORMAT.md). Values are widened as widen_rows does it.
/// @param entries that a row has room for: the bound of its count
/// @param rows [out.count]: where each row begins
/// @pre dtype is kF32, kF16 or kBF16. A column that is not below out.width is passed over
void spread_rows(const Executor& executor,
                 DType dtype,
                 std::uint32_t entries,
                 const std::byte* const* rows,
                 Rows<float> out);

}  // namespace sluice::kernels
