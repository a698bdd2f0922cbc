// Areas under two curves of a ranking: what is looked for, among others, by scores.
//
// Pure functions; thread-safe. Used by metrics of links and by probes.
#pragma once

#include <span>

namespace sluice::probe {

struct RankingAreas {
  double auc = 0;  ///< the chance that a wanted score is above another; half of it where equal
  double ap = 0;   ///< precision at each wanted score, their mean; equal scores are one threshold
};

/// @param wanted, others descending and finite; NaN twice where one is empty
RankingAreas ranking_areas(std::span<const float> wanted, std::span<const float> others);

}  // namespace sluice::probe
