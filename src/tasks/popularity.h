// Popularity: how many events a destination has had, of late the more, or how many the pair has
// had; untrained (after PopTrack, and the scores of arXiv 2502.04910).
//
// With a half-life an event counts 2^(-age / half-life). Events are summed up one by one, the
// latest first, as far back as they change the sum: nothing is a difference of sums.
#pragma once

#include "samplers/pair_history.h"

#include <sluice/options.h>
#include <sluice/tasks/pair_model.h>

#include <cstdint>

namespace sluice::tasks {

enum class PopularityBy {
  kNode,           ///< events of the destination
  kPair,           ///< events of the pair
  kPairThenNode,   ///< of the pair; of as many, those of the destination
  kSharedThenNode  ///< those with an event among the latest few of both first, all by the
                   ///< destination
};

struct PopularityOptions {
  PopularityBy by = PopularityBy::kNode;
  std::int64_t half_life = 0;
  std::int64_t shared = 8;
  PairDirection direction = PairDirection::kForward;
  void describe(Schema& schema);
};

class Popularity final : public PairModel {
 public:
  using Options = PopularityOptions;
  Popularity(const Options& options, const ModelContext& context);
  torch::Tensor score(const PairRequest& request) override;

 private:
  Options options_;
};

}  // namespace sluice::tasks
