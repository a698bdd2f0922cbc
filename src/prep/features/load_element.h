// Elements of any dtype out of raw bytes: the C++ type behind a DType, and unaligned loads.
#pragma once

#include "core/half.h"

#include <sluice/dtype.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

/// A bf16 in memory, which C++20 has no type for.
struct BFloat16 {
  std::uint16_t bits = 0;
  explicit operator float() const { return widen_bf16(bits); }
  explicit operator double() const { return static_cast<double>(widen_bf16(bits)); }
  explicit operator _Float16() const { return static_cast<_Float16>(widen_bf16(bits)); }
};

/// Element `index` of an array of T that may lie at any address.
template <class T>
T load_element(const std::byte* elements, std::size_t index) {
  T value;
  std::memcpy(&value, elements + index * sizeof(T), sizeof(T));
  return value;
}

/// Calls visit(T{}) with the type of the elements of `dtype`.
template <class Visit>
void with_element_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kF32:
      return visit(float{});
    case DType::kF64:
      return visit(double{});
    case DType::kF16:
      return visit(_Float16{});
    case DType::kBF16:
      return visit(BFloat16{});
    case DType::kI8:
      return visit(std::int8_t{});
    case DType::kU8:
      return visit(std::uint8_t{});
    case DType::kI16:
      return visit(std::int16_t{});
    case DType::kU16:
      return visit(std::uint16_t{});
    case DType::kI32:
      return visit(std::int32_t{});
    case DType::kI64:
      return visit(std::int64_t{});
    case DType::kU32:
      return visit(std::uint32_t{});
    case DType::kU64:
      return visit(std::uint64_t{});
  }
}

}  // namespace sluice
