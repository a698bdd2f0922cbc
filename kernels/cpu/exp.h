// exp of sixteen numbers at once, by additions and multiplications alone: the same bits whatever
// the registers.
#pragma once

#include "kernels/cpu/lanes.h"

namespace sluice::kernels::cpu {

/// An exponential costs about this many plain elements.
inline constexpr std::int64_t kExpCost = 8;

/// exp(x) for x <= 0, to 2 units in the last place; 0 below -87.33, where it is no normal number
/// any more. NaN stays NaN. By Cody and Waite's reduction and the polynomial of Cephes' expf.
SLUICE_INLINE Lanes exp_nonpositive(const Lanes& x) {
  constexpr float kLowest = -87.33f;
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 0x1.8p23f;  // adding it leaves an integer in the lowest bits
  const Lanes bounded = x < kLowest ? all(kLowest) : x;
  const Lanes shifted = bounded * kLog2e + kRound;
  const Lanes n = shifted - kRound;
  const Lanes r = (bounded - n * kLn2High) - n * kLn2Low;
  Lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  constexpr std::int32_t kBias = 127, kMantissaBits = 23;
  const IntLanes power = (reinterpret_cast<const IntLanes&>(shifted) + kBias) << kMantissaBits;
  const Lanes exponential = p * reinterpret_cast<const Lanes&>(power);
  return x < kLowest ? Lanes{} : exponential;
}

}  // namespace sluice::kernels::cpu
