// The ids of nobody: padding, the end of a walk, unknown nodes, what could not be drawn.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr std::uint64_t kNoNode = ~std::uint64_t{0};
inline constexpr std::uint64_t kNoEdge = ~std::uint64_t{0};

}  // namespace sluice
