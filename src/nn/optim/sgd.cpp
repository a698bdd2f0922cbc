#include "nn/optim/sgd.h"

#include <sluice/error.h>

namespace sluice::nn {
namespace {

std::vector<std::string> state_names(const Sgd::Options& options) {
  if (options.momentum == 0) return {};
  return {"velocity"};
}

}  // namespace

void Sgd::Options::describe(Schema& schema) {
  schema.field("lr", lr).help("learning rate").range(0, 1e3);
  schema.field("momentum", momentum).help("share of the last step kept in the next").range(0, 1);
  schema.field("nesterov", nesterov).help("look ahead along the momentum; needs momentum > 0");
  schema.field("weight_decay", weight_decay).help("shrinks the parameters").range(0, 1e3);
}

Sgd::Sgd(const Options& options, const OptimizerContext& context)
    : SlotOptimizer(context, options.lr, state_names(options)), options_(options) {
  if (options.nesterov && options.momentum == 0) {
    throw Error(ErrorCode::kUsage,
                "optimizer 'sgd': nesterov = true needs momentum > 0",
                "set momentum = 0.9, or nesterov = false");
  }
}

void Sgd::update(torch::Tensor& parameter,
                 const torch::Tensor& gradient,
                 std::vector<torch::Tensor>& state,
                 std::int64_t) {
  torch::Tensor direction = gradient;
  if (options_.weight_decay != 0) direction = gradient.add(parameter, options_.weight_decay);
  if (options_.momentum != 0) {
    state[0].mul_(options_.momentum).add_(direction);
    direction = options_.nesterov ? direction.add(state[0], options_.momentum) : state[0];
  }
  parameter.add_(direction, -learning_rate());
}

}  // namespace sluice::nn
