#include "nn/optim/adam.h"

#include <cmath>

namespace sluice::nn {

void AdamOptions::describe(Schema& schema) {
  schema.field("lr", lr).help("learning rate").range(0, 1e3);
  schema.field("beta1", beta1).help("decay of the mean of gradients").range(0, 0.999999);
  schema.field("beta2", beta2).help("decay of the mean of their squares").range(0, 0.99999999);
  schema.field("epsilon", epsilon).help("added to the denominator").range(0, 1);
  schema.field("weight_decay", weight_decay).help("shrinks the parameters").range(0, 1e3);
}

Adam::Adam(const Options& options, const OptimizerContext& context, Decay decay)
    : SlotOptimizer(context, options.lr, {"mean", "mean_square"}),
      options_(options),
      decay_(decay) {}

void Adam::update(torch::Tensor& parameter,
                  const torch::Tensor& gradient,
                  std::vector<torch::Tensor>& state,
                  std::int64_t step) {
  const double rate = learning_rate();
  torch::Tensor direction = gradient;
  if (options_.weight_decay != 0) {
    if (decay_ == Decay::kParameters) {
      parameter.mul_(1 - rate * options_.weight_decay);
    } else {
      direction = gradient.add(parameter, options_.weight_decay);
    }
  }
  state[0].mul_(options_.beta1).add_(direction, 1 - options_.beta1);
  state[1].mul_(options_.beta2).addcmul_(direction, direction, 1 - options_.beta2);
  // Both means start at 0; these undo the bias of that.
  const auto steps = static_cast<double>(step);
  const double unbias_mean = 1 - std::pow(options_.beta1, steps);
  const double unbias_square = 1 - std::pow(options_.beta2, steps);
  const torch::Tensor denominator =
      state[1].sqrt().div_(std::sqrt(unbias_square)).add_(options_.epsilon);
  parameter.addcdiv_(state[0], denominator, -rate / unbias_mean);
}

}  // namespace sluice::nn
