// gather_rows: copies rows by index.
#pragma once

#include "kernels/executor.h"
#include "kernels/views.h"

#include <cstdint>

namespace sluice::kernels {

/// out[i] = x[index[i]]. @pre every index is in [0, x.count), out.width == x.width
void gather_rows(const Executor& executor,
                 Rows<const float> x,
                 const std::int64_t* index,
                 Rows<float> out);

}  // namespace sluice::kernels
