// Rows that are copied to places all over a table too large for the processor's caches: their lines
// are asked for some rows ahead.
#pragma once

#include <algorithm>
#include <cstddef>

namespace sluice {

inline constexpr std::size_t kPlacesAhead = 6;  ///< rows

inline void prefetch_for_write(const std::byte* at, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kMost = 8 * kLine;  // beyond, the processor follows by itself
  for (std::size_t line = 0; line < std::min(bytes, kMost); line += kLine)
    __builtin_prefetch(at + line, 1);
}

}  // namespace sluice
