// Lanes: sixteen floats that the compiler keeps in registers, whatever their width; and Tile, a
// stretch of a row in several of them. A loop that adds rows into a tile writes memory once a list,
// not once an item.
#pragma once

#include "kernels/views.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#define SLUICE_INLINE inline __attribute__((always_inline))

namespace sluice::kernels::cpu {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::int64_t kLanes = 16;

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), may_alias));
using IntLanes = std::int32_t __attribute__((vector_size(kLanes * sizeof(float)), may_alias));
// The same at any address of a float.
using LanesAtFloat =
    float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));
using IntLanesAtInt = std::int32_t
    __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));
using WordLanes = std::uint32_t __attribute__((vector_size(kLanes * sizeof(float))));
using WordsAtHalf = std::uint32_t __attribute__((
    vector_size(kLanes * sizeof(float)), aligned(alignof(std::uint16_t)), may_alias));
using HalvesAtHalf = std::uint16_t __attribute__((
    vector_size(kLanes * sizeof(std::uint16_t)), aligned(alignof(std::uint16_t)), may_alias));

SLUICE_INLINE Lanes load(const float* from) {
  return *reinterpret_cast<const LanesAtFloat*>(from);
}
SLUICE_INLINE Lanes load(const BFloat16* from) {
  const auto halves = *reinterpret_cast<const HalvesAtHalf*>(from);
  return reinterpret_cast<Lanes>(__builtin_convertvector(halves, WordLanes) << 16);
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

/// Columns [0, kVectors * kLanes) of a row of T.
template <std::size_t kVectors, class T>
struct Tile {
  static constexpr std::int64_t kWidth = std::int64_t{kVectors} * kLanes;
  Lanes lanes[kVectors] = {};

  SLUICE_INLINE void add(const T* row, One) {
    for_lanes(row, [this](std::size_t v, const Lanes& values) { lanes[v] += values; });
  }
  SLUICE_INLINE void add(const T* row, float factor) {
    const Lanes factors = all(factor);
    for_lanes(row, [&](std::size_t v, const Lanes& values) { lanes[v] += factors * values; });
  }
  SLUICE_INLINE void store_to(float* row) const {
    for (std::size_t v = 0; v < kVectors; v += kPaired ? 2 : 1) {
      float* to = row + v * std::size_t{kLanes};
      if constexpr (kPaired) {
        store(to,
              __builtin_shufflevector(
                  lanes[v], lanes[v + 1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
        store(to + kLanes,
              __builtin_shufflevector(lanes[v],
                                      lanes[v + 1],
                                      8,
                                      24,
                                      9,
                                      25,
                                      10,
                                      26,
                                      11,
                                      27,
                                      12,
                                      28,
                                      13,
                                      29,
                                      14,
                                      30,
                                      15,
                                      31));
      } else {
        store(to, lanes[v]);
      }
    }
  }
  SLUICE_INLINE static void prefetch(const T* row) {
    constexpr std::size_t kLine = 64 / sizeof(T);
    for (std::size_t at = 0; at < kVectors * kLanes; at += kLine)
      __builtin_prefetch(row + at, 0, 3);
  }

 private:
  // Halves are widened two to a word: the even columns of 32 come in one vector, the odd ones in
  // the next, and go back to their places when they are stored.
  static constexpr bool kPaired = std::is_same_v<T, BFloat16> && kVectors % 2 == 0;

  template <class Body>
  SLUICE_INLINE static void for_lanes(const T* row, const Body& body) {
    for (std::size_t v = 0; v < kVectors; v += kPaired ? 2 : 1) {
      const T* from = row + v * std::size_t{kLanes};
      if constexpr (kPaired) {
        const WordLanes words = *reinterpret_cast<const WordsAtHalf*>(from);
        body(v, reinterpret_cast<Lanes>(words << 16));
        body(v + 1, reinterpret_cast<Lanes>(words & 0xffff0000u));
      } else {
        body(v, load(from));
      }
    }
  }
};

/// Calls body with Tile<16, T>, Tile<8, T>, ... and the column where each begins, so that they
/// cover the multiples of kLanes in `width`; returns the first column that is left.
template <class T, class Body>
SLUICE_INLINE std::int64_t for_tiles(std::int64_t width, const Body& body) {
  std::int64_t column = 0;
  for (; column + Tile<16, T>::kWidth <= width; column += Tile<16, T>::kWidth)
    body(Tile<16, T>{}, column);
  if (column + Tile<8, T>::kWidth <= width) {
    body(Tile<8, T>{}, column);
    column += Tile<8, T>::kWidth;
  }
  if (column + Tile<4, T>::kWidth <= width) {
    body(Tile<4, T>{}, column);
    column += Tile<4, T>::kWidth;
  }
  if (column + Tile<2, T>::kWidth <= width) {
    body(Tile<2, T>{}, column);
    column += Tile<2, T>::kWidth;
  }
  if (column + Tile<1, T>::kWidth <= width) {
    body(Tile<1, T>{}, column);
    column += Tile<1, T>::kWidth;
  }
  return column;
}

}  // namespace sluice::kernels::cpu
