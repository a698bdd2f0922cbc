// 16-bit floats widened to f32, exactly. Plain bit arithmetic: the same on every machine.
#pragma once

#include <bit>
#include <cstdint>

namespace sluice {

/// IEEE 754 binary16.
constexpr float widen_f16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero and subnormals: mantissa * 2^-24, which f32 holds exactly.
  const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24f;
  return sign == 0 ? magnitude : -magnitude;
}

/// bfloat16: the high half of an f32.
constexpr float widen_bf16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

}  // namespace sluice
