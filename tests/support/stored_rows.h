// Feature rows as FORMAT.md says they are stored, read without any of our code: the reference for
// what widening gives.
#pragma once

#include <sluice/dtype.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace sluice::test {

/// The number that a binary float of `exponent_bits` and `mantissa_bits` means.
inline double float_value(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const double sign = (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1.0 : 1.0;
  const int top = (1 << exponent_bits) - 1, bias = top / 2;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & top;
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  if (exponent == top) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1u << mantissa_bits), exponent - bias - mantissa_bits);
}

/// Bytes of a row. @param dtype kF32, kF16, kBF16 or kI8 (int8)
inline std::size_t stored_row_bytes(DType dtype, std::size_t dim) {
  if (dtype == DType::kF32) return 4 * dim;
  if (dtype != DType::kI8) return 2 * dim;
  return 4 + (dim % 4 == 0 ? dim : dim + 4 - dim % 4);
}

/// The row's values, exactly.
inline std::vector<double> stored_values(DType dtype, const std::byte* row, std::size_t dim) {
  std::vector<double> values(dim);
  for (std::size_t c = 0; c < dim; ++c) {
    if (dtype == DType::kF32) {
      float value = 0;
      std::memcpy(&value, row + 4 * c, 4);
      values[c] = static_cast<double>(value);
    } else if (dtype == DType::kI8) {
      float scale = 0;
      std::memcpy(&scale, row, 4);
      values[c] = static_cast<double>(scale) * static_cast<std::int8_t>(row[4 + c]);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, row + 2 * c, 2);
      values[c] = dtype == DType::kF16 ? float_value(bits, 5, 10) : float_value(bits, 8, 7);
    }
  }
  return values;
}

/// The values of a sparse row of floats: a count, so many columns of 2 bytes (4 where there are
/// more than 65,536), and so many values, each list begun at a multiple of 4 bytes.
inline std::vector<double> sparse_values(DType dtype, const std::byte* row, std::size_t dim) {
  std::uint32_t count = 0;
  std::memcpy(&count, row, 4);
  const std::size_t column_bytes = dim > 65'536 ? 4 : 2;
  std::size_t list_bytes = count * column_bytes;
  while (list_bytes % 4 != 0) ++list_bytes;
  const std::vector<double> stored = stored_values(dtype, row + 4 + list_bytes, count);
  std::vector<double> values(dim, 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t column = 0;  // little-endian
    std::memcpy(&column, row + 4 + i * column_bytes, column_bytes);
    values.at(column) = stored[i];
  }
  return values;
}

/// How far a stored value may be from the one that was given: half a unit of the last place of a
/// float (relative, or absolute among the subnormals), a whole step of int8's `scale`.
inline double largest_error(DType dtype, double value, double scale = 0) {
  const double size = std::abs(value);
  if (dtype == DType::kF32) return std::max(size * 0x1p-24, 0x1p-150);
  if (dtype == DType::kF16) return std::max(size * 0x1p-11, 0x1p-25);
  if (dtype == DType::kBF16) return std::max(size * 0x1p-8, 0x1p-134);
  return scale * (1 + 1e-4);  // 127 times the rounding of the scale itself
}

}  // namespace sluice::test
