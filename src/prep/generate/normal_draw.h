// normal_draw: a number close to a standard normal, of one random draw; the same on every machine.
#pragma once

#include <cstdint>

namespace sluice {

/// The sum of four 16-bit uniforms of the bits (Irwin-Hall), centred and scaled. Its tails end at
/// 3.46; for features that is of no matter, and it costs one draw.
inline float normal_draw(std::uint64_t bits) {
  const std::uint64_t sum =
      (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
  constexpr float kMean = 2.0f * 65535.0f;
  constexpr float kScale = 1.7320508f / 65536.0f;
  return (static_cast<float>(sum) - kMean) * kScale;
}

}  // namespace sluice
