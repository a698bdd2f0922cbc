// add_stored: sums of elements as files store them, for entries of a sparse matrix that stand in
// one place.
#pragma once

#include "prep/features/load_element.h"

#include <sluice/dtype.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace sluice {

/// Adds what is stored at `value` to what is stored at `to`, both at any address. @pre dtype is not
/// kBF16, which no .npy file has
inline void add_stored(DType dtype, const std::byte* value, std::byte* to) {
  with_element_type(dtype, [&]<class T>(T /*tag*/) {
    if constexpr (!std::is_same_v<T, BFloat16>) {
      const T sum = static_cast<T>(load_element<T>(to, 0) + load_element<T>(value, 0));
      std::memcpy(to, &sum, sizeof sum);
    }
  });
}

}  // namespace sluice
