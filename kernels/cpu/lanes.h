// Lanes: sixteen floats that the compiler keeps in registers, whatever their width; and Tile, a
// stretch of a row in several of them. A loop that adds rows into a tile writes memory once a list,
// not once an item.
#pragma once

#include <cstddef>
#include <cstdint>

#define SLUICE_INLINE inline __attribute__((always_inline))

namespace sluice::kernels::cpu {

inline constexpr std::int64_t kLanes = 16;

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), may_alias));
using IntLanes = std::int32_t __attribute__((vector_size(kLanes * sizeof(float)), may_alias));
// The same at any address of a float.
using LanesAtFloat =
    float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));
using IntLanesAtInt = std::int32_t
    __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));

SLUICE_INLINE Lanes load(const float* from) {
  return *reinterpret_cast<const LanesAtFloat*>(from);
}
SLUICE_INLINE void store(float* to, const Lanes& lanes) {
  *reinterpret_cast<LanesAtFloat*>(to) = lanes;
}
SLUICE_INLINE IntLanes load(const std::int32_t* from) {
  return *reinterpret_cast<const IntLanesAtInt*>(from);
}
SLUICE_INLINE void store(std::int32_t* to, const IntLanes& lanes) {
  *reinterpret_cast<IntLanesAtInt*>(to) = lanes;
}
SLUICE_INLINE Lanes all(float value) {
  return Lanes{} + value;
}

/// The factor of a row that is taken as it is.
struct One {};

/// Columns [0, kVectors * kLanes) of a row.
template <std::size_t kVectors>
struct Tile {
  static constexpr std::int64_t kWidth = std::int64_t{kVectors} * kLanes;
  Lanes lanes[kVectors] = {};

  SLUICE_INLINE void add(const float* row, One) {
    for (std::size_t v = 0; v < kVectors; ++v) lanes[v] += load(row + v * std::size_t{kLanes});
  }
  SLUICE_INLINE void add(const float* row, float factor) {
    const Lanes factors = all(factor);
    for (std::size_t v = 0; v < kVectors; ++v)
      lanes[v] += factors * load(row + v * std::size_t{kLanes});
  }
  SLUICE_INLINE void scale(float factor) {
    const Lanes factors = all(factor);
    for (std::size_t v = 0; v < kVectors; ++v) lanes[v] *= factors;
  }
  SLUICE_INLINE void store_to(float* row) const {
    for (std::size_t v = 0; v < kVectors; ++v) store(row + v * std::size_t{kLanes}, lanes[v]);
  }
  SLUICE_INLINE static void prefetch(const float* row) {
    for (std::size_t v = 0; v < kVectors; ++v)
      __builtin_prefetch(row + v * std::size_t{kLanes}, 0, 3);
  }
};

/// Calls body with Tile<16>, Tile<8>, ... and the column where each begins, so that they cover the
/// multiples of kLanes in `width`; returns the first column that is left.
template <class Body>
SLUICE_INLINE std::int64_t for_tiles(std::int64_t width, const Body& body) {
  std::int64_t column = 0;
  for (; column + Tile<16>::kWidth <= width; column += Tile<16>::kWidth) body(Tile<16>{}, column);
  if (column + Tile<8>::kWidth <= width) {
    body(Tile<8>{}, column);
    column += Tile<8>::kWidth;
  }
  if (column + Tile<4>::kWidth <= width) {
    body(Tile<4>{}, column);
    column += Tile<4>::kWidth;
  }
  if (column + Tile<2>::kWidth <= width) {
    body(Tile<2>{}, column);
    column += Tile<2>::kWidth;
  }
  if (column + Tile<1>::kWidth <= width) {
    body(Tile<1>{}, column);
    column += Tile<1>::kWidth;
  }
  return column;
}

}  // namespace sluice::kernels::cpu
