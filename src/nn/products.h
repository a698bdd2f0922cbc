// Products of f32 matrices. LibTorch multiplies by MKL, which on processors of other makers than
// Intel's does not use AVX-512; the oneDNN within LibTorch does: twice as fast there for the shapes
// of mini-batches. Where that is so, matrices with many rows go to oneDNN in pieces of two fixed
// sizes, since it makes code for each shape that it meets, and those of mini-batches hardly ever
// repeat.
//
// Which library multiplies depends on processor and shapes alone, so equal runs give equal bits.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace sluice::nn {

enum class ProductLibrary { kLibTorch, kOneDnn };

/// Whether this LibTorch has oneDNN, and lets it be called.
bool one_dnn_can_be_called();
/// oneDNN where that is so and it is the faster one.
ProductLibrary product_library();

/// What takes part in a product; LibTorch's own way for all that pieces do not suit.
class Products {
 public:
  explicit Products(ProductLibrary library = product_library()) : library_(library) {}

  /// x W. @param x [n, k]; @param w [k, m]
  torch::Tensor rows(const torch::Tensor& x, const torch::Tensor& w) const;
  /// out += x W. @param out [n, m], contiguous
  void add_rows(const torch::Tensor& x, const torch::Tensor& w, torch::Tensor out) const;
  /// A^T B. @param a [n, k]; @param b [n, m]; the result is [k, m]
  torch::Tensor columns(const torch::Tensor& a, const torch::Tensor& b) const;
  /// x W^T + bias, with gradients. @param bias may be undefined
  torch::Tensor linear(const torch::Tensor& x,
                       const torch::Tensor& weight,
                       const torch::Tensor& bias) const;

 private:
  bool in_pieces(const torch::Tensor& x, const torch::Tensor& other) const;

  ProductLibrary library_;
};

}  // namespace sluice::nn
