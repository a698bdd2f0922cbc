// The learned slope of PReLU, as layers and heads begin it: torch::prelu(x, slope) is x above 0,
// and the slope times x below.
#pragma once

#include <sluice/nn/init.h>

#include <torch/torch.h>

namespace sluice::nn {

/// f32 [1], to be registered as a parameter: a quarter, as He et al. 2015 begin.
inline torch::Tensor first_prelu_slope() {
  return zeros({1}) + 0.25;
}

}  // namespace sluice::nn
