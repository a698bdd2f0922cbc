#include "least_used_policy.h"

#include <algorithm>
#include <tuple>

namespace extend {

void LeastUsedPolicy::choose(std::span<const sluice::CachedRow> rows,
                             std::span<std::uint32_t> candidates,
                             std::size_t count) {
  const auto worth = [&](std::uint32_t slot) {
    return std::tuple(rows[slot].uses, ~rows[slot].next_use, slot);
  };
  std::ranges::nth_element(
      candidates, candidates.begin() + static_cast<std::ptrdiff_t>(count), {}, worth);
}

}  // namespace extend
