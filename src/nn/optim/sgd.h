// Stochastic gradient descent with momentum, classical or Nesterov's.
#pragma once

#include "nn/optim/slot_optimizer.h"

namespace sluice::nn {

class Sgd final : public SlotOptimizer {
 public:
  struct Options {
    double lr = 0.01;
    double momentum = 0;
    bool nesterov = false;
    double weight_decay = 0;
    void describe(Schema& schema);
  };
  /// Throws kUsage for nesterov without momentum.
  Sgd(const Options& options, const OptimizerContext& context);

 private:
  void update(torch::Tensor& parameter,
              const torch::Tensor& gradient,
              std::vector<torch::Tensor>& state,
              std::int64_t step) override;

  Options options_;
};

}  // namespace sluice::nn
