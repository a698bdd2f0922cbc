#include "storage/feature/ranked_policy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

// The `limit` for which `count` numbers lie below it or on it, but for `spared` of those on it.
struct Divide {
  std::uint32_t limit;
  std::size_t spared;
};

// Digit by digit, from the first in which the numbers differ on. `left` is used up.
Divide find_least(std::span<std::uint32_t> left, std::size_t count) {
  constexpr int kBits = 11;
  constexpr std::size_t kSides = 4;
  for (;;) {
    std::uint32_t least = left.front();
    std::uint32_t most = left.front();
    for (const std::uint32_t number : left) {
      least = std::min(least, number);
      most = std::max(most, number);
    }
    if (least == most) return {least, left.size() - count};
    const int shift = std::max(static_cast<int>(std::bit_width(least ^ most)) - kBits, 0);
    const std::uint32_t first = least >> shift;
    // Side by side: equal numbers follow each other, and each count would wait for the last.
    std::array<std::array<std::uint32_t, kSides>, 1u << kBits> sides{};
    for (std::size_t i = 0; i < left.size(); ++i) ++sides[(left[i] >> shift) - first][i % kSides];
    const auto held = [&](std::uint32_t digit) {
      return std::accumulate(sides[digit].begin(), sides[digit].end(), std::size_t{0});
    };
    std::uint32_t digit = 0;
    while (count > held(digit)) count -= held(digit++);
    std::size_t kept = 0;
    for (const std::uint32_t number : left) {
      left[kept] = number;
      kept += (number >> shift) - first == digit ? 1u : 0u;
    }
    left = left.first(kept);
  }
}

}  // namespace

void take_least(std::span<const std::uint32_t> worths,
                std::span<std::uint32_t> candidates,
                std::size_t count,
                std::vector<std::uint32_t>& sorting) {
  sorting.assign(worths.begin(), worths.end());
  Divide divide = find_least(sorting, count);
  // No branch is taken by worth: it could not be foreseen.
  std::size_t chosen = 0;
  for (std::size_t i = 0; chosen < count; ++i) {
    const std::size_t equal = worths[i] == divide.limit ? 1 : 0;
    const std::size_t spared = equal & (divide.spared != 0 ? 1u : 0u);
    std::swap(candidates[chosen], candidates[i]);
    chosen += (worths[i] < divide.limit ? 1u : 0u) | (equal & ~spared);
    divide.spared -= spared;
  }
}

}  // namespace sluice
