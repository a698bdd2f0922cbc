// A skewed graph that costs little to draw: both ends by the square of a uniform number, and spread
// over the ids.
#pragma once

#include <sluice/random.h>

#include <cstdint>

namespace sluice::bench {

struct SkewedDraw {
  std::uint64_t nodes;  ///< a power of two
  RandomKey key = RandomKey(26).with("pairs");

  std::uint32_t operator()(std::uint64_t counter) const {
    const std::uint64_t low = key.below(1 + key.below(nodes, counter), counter + 1);
    return static_cast<std::uint32_t>(low * 0x9e3779b97f4a7c15ull & (nodes - 1));
  }
  std::uint32_t source(std::uint64_t edge) const { return (*this)(4 * edge); }
  std::uint32_t target(std::uint64_t edge) const { return (*this)(4 * edge + 2); }
};

}  // namespace sluice::bench
