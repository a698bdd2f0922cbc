// The cache policies that come with Sluice; src/registry/caches.cpp has their names.
#pragma once

#include "storage/feature/ranked_policy.h"

#include <sluice/cache_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

/// The row whose next use is farthest gives way (Belady 1966: no policy reads less). Of rows whose
/// next use is beyond what was sampled ahead, those go first that were used in the smallest share
/// of windows since they came, with a few windows' doubt, so that a row that has just come for once
/// does not look like one of every window.
class BeladyPolicy final : public RankedPolicy<BeladyPolicy> {
 public:
  static constexpr bool kWantsNextUses = true;
  bool takes_unused_first() const override { return true; }
  std::uint32_t worth(const CachedRow& row) const {
    constexpr std::uint32_t kKnown = 1u << 31;
    if (row.next_use != kNeverUsed)
      return kKnown + (kKnown - 1 - std::min(row.next_use, kKnown - 1));
    constexpr std::uint64_t kDoubt = 4;
    const std::uint64_t age = row.last_use - row.admitted + 1;
    return static_cast<std::uint32_t>((std::uint64_t{row.uses} << 20) / (age + kDoubt));
  }
};

/// The row not used for longest.
class LruPolicy final : public RankedPolicy<LruPolicy> {
 public:
  std::uint32_t worth(const CachedRow& row) const { return row.last_use; }
};

/// The row of the node that is a neighbour least often; what a static cache of the hottest nodes
/// keeps (PaGraph, DGL, GIDS).
template <CacheShare Share>
class HotRowsPolicy final : public RankedPolicy<HotRowsPolicy<Share>> {
 public:
  static constexpr CacheShare kShare = Share;
  explicit HotRowsPolicy(HotnessOf hotness) : hotness_(std::move(hotness)) {}
  std::uint32_t worth(const CachedRow& row) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(hotness_(row.id), ~0u));
  }

 private:
  HotnessOf hotness_;
};

using DegreePolicy = HotRowsPolicy<CacheShare::kAsked>;
/// The same, where tables share the budget by uses, cost of a miss and size of a row: of all rows
/// of all tables those stay that save most (storage/feature/cache_shares.h).
using HotBytesPolicy = HotRowsPolicy<CacheShare::kRanked>;
/// The same, where they share it by what their misses cost (Heta).
using HotTypesPolicy = HotRowsPolicy<CacheShare::kProportional>;

/// Any: rows of a window are not kept beyond the next one.
class KeepNonePolicy final : public RankedPolicy<KeepNonePolicy> {
 public:
  std::uint32_t worth(const CachedRow&) const { return 0; }
};

/// Second chance: one hand goes over the candidates by slot. A row that was used since the hand
/// passed it last is spared once: its use counts as seen.
class ClockPolicy final : public CachePolicy {
 public:
  void choose(std::span<const CachedRow> rows,
              std::span<std::uint32_t> candidates,
              std::size_t count) override;
  void reset() override;

 private:
  std::uint32_t hand_ = 0;
  std::vector<std::uint64_t> seen_;  // by slot: last use and count when the hand passed, plus one
};

}  // namespace sluice
