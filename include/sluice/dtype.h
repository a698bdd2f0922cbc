// Element types of arrays and of columns on disk. Torch-free; `src/nn` maps them to tensor types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class DType : std::uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kU8,
  kI32,
  kI64,
  kU32,
  kU64,
  kI16,
  kU16
};

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kI8:
    case DType::kU8:
      return 1;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16:
      return 2;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
      return 8;
  }
  return 0;
}

/// The name used in manifests, configs and messages: "f32", "i64", ...
std::string_view to_string(DType dtype);

/// The inverse of `to_string`; nothing for an unknown name.
std::optional<DType> parse_dtype(std::string_view name);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::kI16;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::kU16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::kU32;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::kU64;
};

template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace sluice
