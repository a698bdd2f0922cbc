// RemovedPositions: edges that were taken out of a relation, and how those that stayed are counted.
#pragma once

#include <sluice/array.h>

#include <algorithm>  // IWYU pragma: keep, ranges::lower_bound
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice {

class RemovedPositions {
 public:
  RemovedPositions() = default;
  /// @param positions u64 [n], ascending and distinct: among all edges
  explicit RemovedPositions(Array positions) : positions_(std::move(positions)) {}

  bool empty() const { return positions_.empty(); }
  std::span<const std::uint64_t> all() const {
    return std::as_const(positions_).as<std::uint64_t>();
  }

  /// How many stood before `position`. O(log n).
  std::uint64_t before(std::uint64_t position) const {
    const auto removed = all();
    return static_cast<std::uint64_t>(std::ranges::lower_bound(removed, position) -
                                      removed.begin());
  }

  /// Where the edge stood among all that is the `kept`th of those that stayed. O(log n).
  std::uint64_t original(std::uint64_t kept) const {
    const auto removed = all();
    std::size_t first = 0;
    for (std::size_t count = removed.size(); count > 0;) {
      const std::size_t half = count / 2;
      // So many of those that stayed stood before the removed one in the middle.
      if (removed[first + half] - (first + half) <= kept) {
        first += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return kept + first;
  }

 private:
  Array positions_;
};

}  // namespace sluice
