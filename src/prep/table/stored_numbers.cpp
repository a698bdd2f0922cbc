#include "prep/table/stored_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {
namespace {

/// IEEE half precision to double, exactly.
double widen_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const double fraction = bits & 0x3ff;
  double value = 0;
  if (exponent == 0x1f) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else {
    value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

template <class Stored, class Out>
void widen(const std::byte* stored, std::span<Out> out) {
  const std::span values(reinterpret_cast<const Stored*>(stored), out.size());
  std::transform(values.begin(), values.end(), out.begin(), [](Stored value) {
    return static_cast<Out>(value);
  });
}

template <class Out>
void widen_any(DType dtype, const std::byte* stored, std::span<Out> out) {
  switch (dtype) {
    case DType::kF16: {
      const std::span halves(reinterpret_cast<const std::uint16_t*>(stored), out.size());
      std::transform(halves.begin(), halves.end(), out.begin(), [](std::uint16_t half) {
        return static_cast<Out>(widen_half(half));
      });
      return;
    }
    case DType::kF32:
      return widen<float>(stored, out);
    case DType::kF64:
      return widen<double>(stored, out);
    case DType::kI8:
      return widen<std::int8_t>(stored, out);
    case DType::kU8:
      return widen<std::uint8_t>(stored, out);
    case DType::kI16:
      return widen<std::int16_t>(stored, out);
    case DType::kU16:
      return widen<std::uint16_t>(stored, out);
    case DType::kI32:
      return widen<std::int32_t>(stored, out);
    case DType::kI64:
      return widen<std::int64_t>(stored, out);
    case DType::kU32:
      return widen<std::uint32_t>(stored, out);
    case DType::kU64:
      return widen<std::uint64_t>(stored, out);
    case DType::kBF16:
      break;  // no table format has it
  }
}

}  // namespace

void widen_to_integers(DType dtype, const std::byte* stored, std::span<std::int64_t> out) {
  if (!is_fraction(dtype)) widen_any(dtype, stored, out);
}

void widen_to_reals(DType dtype, const std::byte* stored, std::span<double> out) {
  widen_any(dtype, stored, out);
}

std::size_t first_beyond_int64(std::span<const std::uint64_t> values, std::size_t from) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
  const auto beyond =
      std::find_if(begin, values.end(), [](std::uint64_t value) { return value > kMost; });
  return static_cast<std::size_t>(beyond - values.begin());
}

}  // namespace sluice
