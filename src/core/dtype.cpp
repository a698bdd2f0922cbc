#include <sluice/dtype.h>

#include <array>
#include <utility>

namespace sluice {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 12> kNames{{
    {DType::kF32, "f32"},
    {DType::kF64, "f64"},
    {DType::kF16, "f16"},
    {DType::kBF16, "bf16"},
    {DType::kI8, "i8"},
    {DType::kU8, "u8"},
    {DType::kI16, "i16"},
    {DType::kU16, "u16"},
    {DType::kI32, "i32"},
    {DType::kI64, "i64"},
    {DType::kU32, "u32"},
    {DType::kU64, "u64"},
}};

}  // namespace

std::string_view to_string(DType dtype) {
  for (const auto& [value, name] : kNames) {
    if (value == dtype) return name;
  }
  return "?";
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace sluice
