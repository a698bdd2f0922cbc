#include "nn/optim/adagrad.h"

namespace sluice::nn {

void Adagrad::Options::describe(Schema& schema) {
  schema.field("lr", lr).help("learning rate").range(0, 1e3);
  schema.field("epsilon", epsilon).help("added to the denominator").range(0, 1);
  schema.field("weight_decay", weight_decay).help("shrinks the parameters").range(0, 1e3);
}

Adagrad::Adagrad(const Options& options, const OptimizerContext& context)
    : SlotOptimizer(context, options.lr, {"sum"}), options_(options) {}

void Adagrad::update(torch::Tensor& parameter,
                     const torch::Tensor& gradient,
                     std::vector<torch::Tensor>& state,
                     std::int64_t) {
  torch::Tensor direction = gradient;
  if (options_.weight_decay != 0) direction = gradient.add(parameter, options_.weight_decay);
  state[0].addcmul_(direction, direction);
  parameter.addcdiv_(direction, state[0].sqrt().add_(options_.epsilon), -learning_rate());
}

}  // namespace sluice::nn
