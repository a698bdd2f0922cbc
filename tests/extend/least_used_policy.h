// LeastUsedPolicy: the row that was asked for by the fewest windows gives way: a cache policy of a
// user's own.
#pragma once

#include <sluice/cache_policy.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace extend {

class LeastUsedPolicy final : public sluice::CachePolicy {
 public:
  static constexpr bool kWantsNextUses = true;  // among rows that were used as often

  void choose(std::span<const sluice::CachedRow> rows,
              std::span<std::uint32_t> candidates,
              std::size_t count) override;
};

}  // namespace extend
