// Recency: the destination that met somebody last, before those that did earlier; where wanted
// after whether the pair met, or met lately. Untrained (after the scores of arXiv 2502.04910).
//
// Lexicographic and exact: a higher level goes before whatever times say, of the same level the
// later time. What never was comes last.
#pragma once

#include "samplers/pair_history.h"

#include <sluice/options.h>
#include <sluice/tasks/pair_model.h>

#include <cstdint>

namespace sluice::tasks {

enum class RecencyBy {
  kNode,           ///< when the destination last met anybody
  kPair,           ///< when both last met, and nothing else
  kPairThenNode,   ///< those who have met by when they last did, then all others by the destination
  kSharedThenNode  ///< those with an event among the latest few of both first, all by the
                   ///< destination
};

struct RecencyOptions {
  RecencyBy by = RecencyBy::kNode;
  std::int64_t shared = 8;
  PairDirection direction = PairDirection::kEither;
  void describe(Schema& schema);
};

class Recency final : public PairModel {
 public:
  using Options = RecencyOptions;
  Recency(const Options& options, const ModelContext& context);
  torch::Tensor score(const PairRequest& request) override;

 private:
  Options options_;
};

}  // namespace sluice::tasks
