// PairNetwork: a small network over exact features of a pair at a time (pair_features.h), in the
// place of an encoder: nothing is learned of any node by itself.
#pragma once

#include "samplers/pair_history.h"
#include "tasks/pair_features.h"

#include <sluice/nn/linear.h>
#include <sluice/options.h>
#include <sluice/tasks/pair_model.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::tasks {

struct PairNetworkOptions {
  std::int64_t hidden = 64;
  std::int64_t layers = 3;
  std::vector<double> clocks{60, 600, 3600, 86400, 604800, 2592000};
  PairDirection direction = PairDirection::kForward;
  void describe(Schema& schema);
};

class PairNetwork final : public PairModel {
 public:
  using Options = PairNetworkOptions;
  PairNetwork(const Options& options, const ModelContext& context);
  /// The numbers that features are made of: pair_features.h.
  void read(const PairHistory& history, MemoryLedger* ledger) override;
  /// f32 [q, c] on the model's device.
  torch::Tensor score(const PairRequest& request) override;

 private:
  torch::Tensor features_of(const PairRequest& request);

  Options options_;
  std::vector<std::shared_ptr<nn::Linear>> linears_;
  std::unique_ptr<PairFeatures> features_;  // of read()
};

}  // namespace sluice::tasks
