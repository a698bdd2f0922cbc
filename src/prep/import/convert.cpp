#include "prep/import/convert.h"

#include <sluice/error.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace sluice {
namespace {

template <class T>
T load(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class From, class To>
void convert(std::span<const std::byte> in, std::span<std::byte> out) {
  const std::size_t count = in.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    const To value = static_cast<To>(load<From>(in, i));
    std::memcpy(out.data() + i * sizeof(To), &value, sizeof(To));
  }
}

template <class To>
void convert_to(DType from, std::span<const std::byte> in, std::span<std::byte> out) {
  switch (from) {
    case DType::kF32:
      return convert<float, To>(in, out);
    case DType::kF64:
      return convert<double, To>(in, out);
    case DType::kF16:
      return convert<_Float16, To>(in, out);
    case DType::kI8:
      return convert<std::int8_t, To>(in, out);
    case DType::kU8:
      return convert<std::uint8_t, To>(in, out);
    case DType::kI32:
      return convert<std::int32_t, To>(in, out);
    case DType::kI64:
      return convert<std::int64_t, To>(in, out);
    case DType::kU32:
      return convert<std::uint32_t, To>(in, out);
    case DType::kU64:
      return convert<std::uint64_t, To>(in, out);
    case DType::kBF16:
      break;
  }
  throw Error(ErrorCode::kInternal, "bf16 is no source of a conversion");
}

// NaN and infinity are the values whose exponent bits are all set; blocks are searched without a
// branch an element.
template <class Bits>
std::size_t first_with(Bits exponent, std::span<const std::byte> elements) {
  constexpr std::size_t kBlock = 1024;
  const std::size_t count = elements.size() / sizeof(Bits);
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, count);
    bool any = false;
    for (std::size_t i = begin; i < end; ++i)
      any |= (load<Bits>(elements, i) & exponent) == exponent;
    if (!any) continue;
    for (std::size_t i = begin; i < end; ++i) {
      if ((load<Bits>(elements, i) & exponent) == exponent) return i;
    }
  }
  return count;
}

}  // namespace

void convert_elements(DType from,
                      std::span<const std::byte> in,
                      DType to,
                      std::span<std::byte> out) {
  if (from == to) {
    std::memcpy(out.data(), in.data(), in.size());
  } else if (to == DType::kF32) {
    convert_to<float>(from, in, out);
  } else {
    convert_to<_Float16>(from, in, out);
  }
}

std::size_t first_not_finite(DType dtype, std::span<const std::byte> elements) {
  if (dtype == DType::kF32) return first_with<std::uint32_t>(0x7f800000u, elements);
  return first_with<std::uint16_t>(0x7c00u, elements);
}

double element_as_double(DType dtype, std::span<const std::byte> elements, std::size_t index) {
  if (dtype == DType::kF64) return load<double>(elements, index);
  if (dtype == DType::kF32) return static_cast<double>(load<float>(elements, index));
  return static_cast<double>(load<_Float16>(elements, index));
}

}  // namespace sluice
