// SharedCaches: how what is free of a budget is shared out between the caches of learned rows on
// disk and those of features, by what each row that stays saves. A value; pure functions.
#pragma once

#include "storage/feature/cache_shares.h"

#include <sluice/cache_policy.h>

#include <cstdint>
#include <vector>

namespace sluice {

/// Tables on disk, of all types.
struct SharedCaches {
  CacheShare share = CacheShare::kAsked;  ///< kAsked: learned rows have an amount of their own
  std::vector<CachedTable> features;
  std::vector<CachedTable> learned;  ///< a row is its values and what their optimiser keeps

  bool any() const { return share != CacheShare::kAsked && !learned.empty(); }
};

/// Of so many bytes beyond the least rows of all tables: what each table of learned rows gets, by
/// the rule over all tables. The rest is the features'. @pre caches.any()
std::vector<std::uint64_t> learned_shares(const SharedCaches& caches, std::uint64_t bytes);

/// Likewise where features have their share already.
std::vector<std::uint64_t> shares_among_learned(const SharedCaches& caches, std::uint64_t bytes);

}  // namespace sluice
