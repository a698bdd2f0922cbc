#include "prep/features/elements.h"

#include "core/half.h"
#include "prep/features/load_element.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace sluice {
namespace {

template <class From, class To>
void convert(std::span<const std::byte> in, std::span<std::byte> out) {
  const std::size_t count = in.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    const From value = load_element<From>(in.data(), i);
    if constexpr (std::is_same_v<To, BFloat16>) {
      const std::uint16_t bits = narrow_bf16(static_cast<double>(value));
      std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
    } else {
      const To narrow = static_cast<To>(value);
      std::memcpy(out.data() + i * sizeof(To), &narrow, sizeof(To));
    }
  }
}

template <class To>
void convert_to(DType from, std::span<const std::byte> in, std::span<std::byte> out) {
  with_element_type(from, [&]<class From>(From /*tag*/) { convert<From, To>(in, out); });
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
      any |= (load_element<Bits>(elements.data(), i) & exponent) == exponent;
    if (!any) continue;
    for (std::size_t i = begin; i < end; ++i) {
      if ((load_element<Bits>(elements.data(), i) & exponent) == exponent) return i;
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
  } else if (to == DType::kF16) {
    convert_to<_Float16>(from, in, out);
  } else {
    convert_to<BFloat16>(from, in, out);
  }
}

std::size_t first_not_finite(DType dtype, std::span<const std::byte> elements) {
  if (dtype == DType::kF32) return first_with<std::uint32_t>(0x7f800000u, elements);
  return first_with<std::uint16_t>(dtype == DType::kF16 ? 0x7c00u : 0x7f80u, elements);
}

double element_as_double(DType dtype, std::span<const std::byte> elements, std::size_t index) {
  double value = 0;
  with_element_type(dtype, [&]<class T>(T /*tag*/) {
    value = static_cast<double>(load_element<T>(elements.data(), index));
  });
  return value;
}

}  // namespace sluice
