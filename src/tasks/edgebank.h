// EdgeBank: whether a pair has met before, ever or within a window of time (Poursafaei, Huang,
// Pelrine, Rabbany, "Towards better evaluation for dynamic link prediction", NeurIPS 2022).
//
// A score of 1 or 0. It is updated as visibility says: after each mini-batch, as published, by
// batch_lag; after each event by strict.
#pragma once

#include "samplers/pair_history.h"

#include <sluice/options.h>
#include <sluice/tasks/pair_model.h>

namespace sluice::tasks {

struct EdgeBankOptions {
  /// Of the time that training took; the window ends with the last event that is seen.
  double window_share = 0;
  PairDirection direction = PairDirection::kForward;
  void describe(Schema& schema);
};

class EdgeBank final : public PairModel {
 public:
  using Options = EdgeBankOptions;
  EdgeBank(const Options& options, const ModelContext& context);
  torch::Tensor score(const PairRequest& request) override;

 private:
  Options options_;
};

}  // namespace sluice::tasks
