// Adagrad (Duchi et al. 2011): steps shrink with the sum of all squared gradients so far.
#pragma once

#include "nn/optim/slot_optimizer.h"

namespace sluice::nn {

class Adagrad final : public SlotOptimizer {
 public:
  struct Options {
    double lr = 0.1;
    double epsilon = 1e-10;
    double weight_decay = 0;
    void describe(Schema& schema);
  };
  Adagrad(const Options& options, const OptimizerContext& context);

 private:
  void update(torch::Tensor& parameter,
              const torch::Tensor& gradient,
              std::vector<torch::Tensor>& state,
              std::int64_t step) override;

  Options options_;
};

}  // namespace sluice::nn
