// A module that follows another of the same shape: its parameters are a moving average of the
// other's, and get no gradients.
#pragma once

#include <torch/torch.h>

namespace sluice::nn {

/// Parameters of `module` get no gradients from now on.
void stop_gradients(torch::nn::Module& module);

/// Parameters and buffers of `to` become those of `from`. @pre modules of the same shape
void copy_module(torch::nn::Module& to, const torch::nn::Module& from);

/// Each parameter of `target` becomes momentum times itself and 1 - momentum times that of
/// `online`; buffers stay. @pre modules of the same shape
void follow_module(torch::nn::Module& target, const torch::nn::Module& online, double momentum);

/// 1 - (1 - momentum) (1 + cos(pi epoch / epochs)) / 2: from `momentum` at the start to 1 after
/// `epochs`, and from then on (BGRL); with epochs = 0 always `momentum`.
double cosine_momentum(double momentum, double epoch, double epochs);

}  // namespace sluice::nn
