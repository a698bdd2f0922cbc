// Loops over the elements of a row that compilers vectorise without reordering a sum.
#pragma once

#include <cstdint>

namespace sluice::kernels::cpu {

inline void add(float* __restrict out, const float* __restrict x, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) out[c] += x[c];
}

inline void add_scaled(float* __restrict out,
                       const float* __restrict x,
                       float factor,
                       std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) out[c] += factor * x[c];
}

inline void scale(float* __restrict out, float factor, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) out[c] *= factor;
}

/// Sixteen running sums, added up in a fixed tree: vectorised, and the same bits everywhere.
inline float dot(const float* __restrict a, const float* __restrict b, std::int64_t width) {
  constexpr std::int64_t kLanes = 16;
  float lanes[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[c + lane] * b[c + lane];
  }
  for (std::int64_t lane = 0; c < width; ++c, ++lane) lanes[lane] += a[c] * b[c];
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

}  // namespace sluice::kernels::cpu
