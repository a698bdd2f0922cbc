// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019).
#pragma once

#include "nn/optim/slot_optimizer.h"

namespace sluice::nn {

struct AdamOptions {
  double lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  void describe(Schema& schema);
};

class Adam : public SlotOptimizer {
 public:
  using Options = AdamOptions;
  Adam(const Options& options, const OptimizerContext& context)
      : Adam(options, context, Decay::kGradient) {}

 protected:
  enum class Decay {
    kGradient,   ///< weight_decay * parameter is added to the gradient (L2)
    kParameters  ///< parameters shrink by lr * weight_decay, apart from the gradient
  };
  Adam(const Options& options, const OptimizerContext& context, Decay decay);

 private:
  void update(torch::Tensor& parameter,
              const torch::Tensor& gradient,
              std::vector<torch::Tensor>& state,
              std::int64_t step) override;

  Options options_;
  Decay decay_;
};

class AdamW final : public Adam {
 public:
  struct Options : AdamOptions {
    Options() { weight_decay = 0.01; }
  };
  AdamW(const Options& options, const OptimizerContext& context)
      : Adam(options, context, Decay::kParameters) {}
};

}  // namespace sluice::nn
