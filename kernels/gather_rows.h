// gather_rows: copies rows by index, as floats.
#pragma once

#include "kernels/views.h"

#include <sluice/executor.h>

#include <cstdint>

namespace sluice::kernels {

/// out[i] = x[index[i]]. @pre every index is in [0, x.count), out.width == x.width
void gather_rows(const Executor& executor, FloatRows x, const std::int64_t* index, Rows<float> out);

}  // namespace sluice::kernels
