// Exponential random numbers that are the same bits on every machine.
//
// A logarithm of the C library may differ in its last bit from one processor to the next, and with
// it which of two nodes is drawn. This one is plain arithmetic in a fixed order.
#pragma once

#include <bit>
#include <cstdint>

namespace sluice {

/// The natural logarithm of a normal number above 0, to a relative error of about 1e-15.
inline double portable_log(double x) {
  constexpr std::uint64_t kMantissa = 0x000fffffffffffffull;
  constexpr double kLn2High = 0x1.62e42feep-1;  // 32 bits: exact times any exponent
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & kMantissa) | 0x3ff0000000000000ull);
  if (m > 0x1.6a09e667f3bcdp+0) {  // the square root of 2
    m *= 0.5;
    ++exponent;
  }
  // log m = 2 artanh s, |s| < 0.172: eleven terms of its series.
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int term = 23; term > 1; term -= 2) sum = (sum + 1.0 / term) * square;
  const double low = static_cast<double>(exponent) * kLn2Low + 2 * s * sum;
  return static_cast<double>(exponent) * kLn2High + (low + 2 * s);
}

/// An exponential random number of rate 1 from 64 random bits; above 0 and finite.
inline double exponential(std::uint64_t bits) {
  const double uniform = (static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52;
  return -portable_log(uniform);
}

}  // namespace sluice
