// Elements from one dtype to another, and the search for what is not finite. Pure; the caller
// splits work over threads.
#pragma once

#include <sluice/dtype.h>

#include <cstddef>
#include <span>

namespace sluice {

/// Whether features can be stored as `dtype`.
constexpr bool is_feature_dtype(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16;
}

/// Converts elements, rounding to nearest even; what is too large becomes infinite.
/// @pre is_feature_dtype(to); `from` is not bf16; out holds as many elements as in
void convert_elements(DType from,
                      std::span<const std::byte> in,
                      DType to,
                      std::span<std::byte> out);

/// Index of the first NaN or infinity, or the number of elements. @pre is_feature_dtype(dtype)
std::size_t first_not_finite(DType dtype, std::span<const std::byte> elements);

/// One element as f64. @pre is_feature_dtype(dtype) or f64
double element_as_double(DType dtype, std::span<const std::byte> elements, std::size_t index);

}  // namespace sluice
