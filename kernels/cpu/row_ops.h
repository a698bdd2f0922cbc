// Loops over the elements of a row that compilers vectorise without reordering a sum.
#pragma once

#include "kernels/cpu/lanes.h"

#include <cstdint>

namespace sluice::kernels::cpu {

template <class T>
SLUICE_INLINE void add(float* __restrict out, const T* __restrict x, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) out[c] += widen(x[c]);
}

template <class T>
SLUICE_INLINE void add_scaled(float* __restrict out,
                              const T* __restrict x,
                              float factor,
                              std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) out[c] += factor * widen(x[c]);
}

SLUICE_INLINE void scale(float* __restrict out, float factor, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) out[c] *= factor;
}

/// The lanes that are a multiple of `stride` apart, combined in a fixed tree into the first
/// `stride`. @pre stride divides kLanes
template <class Combine>
SLUICE_INLINE void fold(Lanes& lanes, std::int64_t stride, const Combine& combine) {
  for (std::int64_t half = kLanes / 2; half >= stride; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane)
      lanes[lane] = combine(lanes[lane], lanes[lane + half]);
  }
}

/// Sixteen running sums, added up in a fixed tree: vectorised, and the same bits everywhere.
template <class T>
SLUICE_INLINE float dot(const float* a, const T* b, std::int64_t width) {
  Lanes sums{};
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) sums += load(a + c) * load(b + c);
  for (std::int64_t lane = 0; c < width; ++c, ++lane) sums[lane] += a[c] * widen(b[c]);
  fold(sums, 1, [](float x, float y) { return x + y; });
  return sums[0];
}

}  // namespace sluice::kernels::cpu
