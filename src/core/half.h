// 16-bit floats widened to f32, exactly, and f64 rounded to bf16. Plain bit arithmetic: the same on
// every machine.
#pragma once

#include <bit>
#include <cstdint>

namespace sluice {

/// IEEE 754 binary16; a signalling NaN becomes quiet, as processors make it.
constexpr float widen_f16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0;
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13) | quiet);
  }
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

/// The nearest bfloat16, ties to even; what is beyond its range becomes infinite.
constexpr std::uint16_t narrow_bf16(double value) {
  const auto nearest = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);  // a quiet NaN
  // f32 on the way rounds to odd (toward zero, the last bit set where anything was cut off), so
  // that the second rounding is the only one that counts (Boldo, Melquiond 2008).
  const auto back = static_cast<double>(nearest);
  if (back != value) {
    const bool away = value < 0 ? back < value : back > value;
    bits = (away ? bits - 1 : bits) | 1u;
  }
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace sluice
