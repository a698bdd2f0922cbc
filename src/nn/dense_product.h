// Products of dense matrices, as layers need them. LibTorch's own come from MKL, which leaves half
// of an AMD processor with AVX-512 unused; there oneDNN, a part of LibTorch too, makes the larger
// ones. Internal to rooms over nn.
#pragma once

#include <torch/torch.h>

namespace sluice::nn {

/// a b: [n, m] of [n, k] and [k, m], which may be views. f32 as exact as LibTorch's. Not for
/// gradients to go through.
torch::Tensor matrix_product(const torch::Tensor& a, const torch::Tensor& b);

/// out += a b. @param out [n, m], of contiguous rows
void add_matrix_product(const torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b);

/// x W^T + bias, for gradients to go through. @param bias may be undefined
torch::Tensor dense_linear(const torch::Tensor& x,
                           const torch::Tensor& weight,
                           const torch::Tensor& bias);

}  // namespace sluice::nn
