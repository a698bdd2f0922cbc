// recompute(): tensors without what lies between them and their leaves, which the backward pass
// makes anew (Chen et al. 2016, "Training deep nets with sublinear memory cost").
#pragma once

#include <torch/torch.h>

#include <functional>
#include <vector>

namespace sluice::nn {

/// Undefined tensors stay undefined. Must give the same each time, and keep what it needs alive.
using Recomputable = std::function<std::vector<torch::Tensor>()>;

/// What `make` gives; where gradients are wanted `make` is called again in the backward pass, once,
/// which has gradients of `leaves` alone.
/// @param leaves all that `make` may use and that wants a gradient; others among them are left out
std::vector<torch::Tensor> recompute(const Recomputable& make,
                                     const std::vector<torch::Tensor>& leaves);

}  // namespace sluice::nn
