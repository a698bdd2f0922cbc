// Elements from one dtype to another, and the search for what is not finite. Pure; the caller
// splits work over threads.
#pragma once

#include <sluice/dtype.h>

#include <cstddef>
#include <span>

namespace sluice {

/// Whether `dtype` is a float that features can be stored as, element by element.
constexpr bool is_feature_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Converts elements, rounding once, to nearest even (integers beyond 2^53 twice on their way to
/// bf16); what is too large becomes infinite.
/// @pre is_feature_float(to); out holds as many elements as in
void convert_elements(DType from,
                      std::span<const std::byte> in,
                      DType to,
                      std::span<std::byte> out);

/// Index of the first NaN or infinity, or the number of elements. @pre is_feature_float(dtype)
std::size_t first_not_finite(DType dtype, std::span<const std::byte> elements);

/// One element as f64; integers beyond 2^53 are rounded.
double element_as_double(DType dtype, std::span<const std::byte> elements, std::size_t index);

}  // namespace sluice
