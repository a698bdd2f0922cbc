// Precision: what matrix products are computed in. Weights, sums and all else stay f32.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace sluice::nn {

enum class Precision {
  kFloat32,
  /// Both sides rounded to bf16 (8 significant bits), products summed in f32, each result rounded
  /// to bf16: several times as fast where the processor has AMX or AVX512-BF16.
  kBFloat16
};

/// x W^T as the products come, in f32 or bf16: for what reads rows of either.
torch::Tensor product(Precision precision, const torch::Tensor& x, const torch::Tensor& weight);

/// Columns by equal groups, each with rows of weights of its own: group g of the result is
/// x_g W_g^T, f32 whatever the precision.
/// @param x [n, groups * in]; @param weight [groups * out, in]; the result is [n, groups * out]
torch::Tensor grouped_product(Precision precision,
                              const torch::Tensor& x,
                              const torch::Tensor& weight,
                              std::int64_t groups);

/// x W^T + bias, f32 whatever the precision. @param bias may be undefined
torch::Tensor linear(Precision precision,
                     const torch::Tensor& x,
                     const torch::Tensor& weight,
                     const torch::Tensor& bias);

/// The rows of a matrix rounded to bf16, with zero rows up to a multiple of 256: the library makes
/// code for each size of a product, and those of mini-batches hardly ever repeat.
torch::Tensor rounded_rows(const torch::Tensor& x);

/// Tells all layers of the class nn::Linear in a model, which start with f32.
void set_precision(torch::nn::Module& model, Precision precision);

/// Whether this processor multiplies bf16 itself.
bool has_bf16_products();

}  // namespace sluice::nn
