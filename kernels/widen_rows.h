// widen_rows: stored feature rows as f32, on their way into a batch.
#pragma once

#include "kernels/views.h"

#include <sluice/dtype.h>
#include <sluice/executor.h>

#include <cstddef>

namespace sluice::kernels {

/// Whether feature rows of this dtype can be widened.
constexpr bool can_widen(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kI8;
}

/// out[i, c] = element c of the row at rows[i], which may lie at any address. f32, f16 and bf16 are
/// exact (a signalling NaN of f16 becomes quiet); int8 is scale * q, rounded once, its row being
/// the f32 scale and then the bytes q (storage/format/FORMAT.md).
/// @param rows [out.count]: where each row begins
/// @pre can_widen(dtype); every row holds out.width elements
void widen_rows(const Executor& executor,
                DType dtype,
                const std::byte* const* rows,
                Rows<float> out);

}  // namespace sluice::kernels
