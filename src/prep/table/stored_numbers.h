// Numbers as files store them, and the int64 and f64 that readers hand out. Pure functions on
// native byte order; shared by the formats that hold arrays (.npy, .npz, raw, Parquet, Arrow).
#pragma once

#include <sluice/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

constexpr bool is_fraction(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

/// u64 beyond int64 wraps: first_beyond_int64 finds it before. @pre !is_fraction(dtype); `stored`
/// holds out.size() elements and is aligned
void widen_to_integers(DType dtype, const std::byte* stored, std::span<std::int64_t> out);

/// Exact but for integers beyond 2^53. @pre `stored` holds out.size() elements and is aligned;
/// dtype is not bf16
void widen_to_reals(DType dtype, const std::byte* stored, std::span<double> out);

/// Index of the first value, at `from` or behind it, that no int64 holds; values.size() where there
/// is none.
std::size_t first_beyond_int64(std::span<const std::uint64_t> values, std::size_t from = 0);

}  // namespace sluice
