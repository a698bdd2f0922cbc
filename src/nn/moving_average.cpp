#include "nn/moving_average.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice::nn {

void stop_gradients(torch::nn::Module& module) {
  for (torch::Tensor& parameter : module.parameters()) parameter.requires_grad_(false);
}

void copy_module(torch::nn::Module& to, const torch::nn::Module& from) {
  const torch::NoGradGuard no_grad;
  const auto parameters = from.named_parameters();
  for (auto& item : to.named_parameters()) item.value().copy_(parameters[item.key()]);
  const auto buffers = from.named_buffers();
  for (auto& item : to.named_buffers()) item.value().copy_(buffers[item.key()]);
}

void follow_module(torch::nn::Module& target, const torch::nn::Module& online, double momentum) {
  const torch::NoGradGuard no_grad;
  const auto parameters = online.named_parameters();
  for (auto& item : target.named_parameters())
    item.value().mul_(momentum).add_(parameters[item.key()], 1 - momentum);
}

double cosine_momentum(double momentum, double epoch, double epochs) {
  if (epochs <= 0) return momentum;
  const double done = std::min(1.0, epoch / epochs);
  return 1 - (1 - momentum) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace sluice::nn
