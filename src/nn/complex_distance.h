// Distances between rows of complex numbers, each beside all. Internal to src/nn.
#pragma once

#include <torch/torch.h>

namespace sluice::nn {

/// f32 [n, m]: the sum over the numbers of |x - y|; columns are the real parts, then the imaginary
/// ones. On the CPU it keeps neither differences nor moduli: its backward computes them again. On a
/// GPU LibTorch's operations keep both, [n, m, 2 k]. The gradient of a modulus that is 0 is 0.
/// @param x f32 [n, 2 k] @param y f32 [m, 2 k]
torch::Tensor complex_distance(const torch::Tensor& x, const torch::Tensor& y);

}  // namespace sluice::nn
