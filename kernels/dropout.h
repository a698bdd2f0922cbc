// dropout: zeroes elements by a counter-based draw, so that the mask is a function of the key alone
// and the backward draws it again instead of storing it.
#pragma once

#include <sluice/executor.h>
#include <sluice/random.h>

#include <cstdint>

namespace sluice::kernels {

/// out[i] = 0 with probability `rate`, else x[i] / (1 - rate); the same key gives the same mask, so
/// that the backward is this kernel over the gradients. `out` may be `x`.
/// @pre 0 <= rate < 1
void dropout(const Executor& executor,
             RandomKey key,
             double rate,
             const float* x,
             float* out,
             std::int64_t count);

}  // namespace sluice::kernels
