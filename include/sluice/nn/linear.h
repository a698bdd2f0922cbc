// Linear: x W^T + b with parameters drawn from a key.
#pragma once

#include <sluice/nn/precision.h>
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>

namespace sluice::nn {

enum class Bias { kNone, kZero };

class Linear : public torch::nn::Module {
 public:
  /// Weights by Glorot; the bias starts at 0.
  Linear(std::int64_t in, std::int64_t out, Bias bias, RandomKey key);

  /// @param x [n, in]; the result is [n, out]
  torch::Tensor forward(const torch::Tensor& x) const;
  /// The same without the bias, in f32 or bf16 as products are computed: for block operations.
  torch::Tensor product(const torch::Tensor& x) const;

  const torch::Tensor& weight() const { return weight_; }
  const torch::Tensor& bias() const { return bias_; }  ///< undefined for Bias::kNone
  Precision precision() const { return precision_; }
  void set_precision(Precision precision) { precision_ = precision; }
  std::int64_t in() const { return weight_.size(1); }
  std::int64_t out() const { return weight_.size(0); }

 private:
  torch::Tensor weight_, bias_;
  Precision precision_ = Precision::kFloat32;
};

/// What a linear map and a sum over a block's edges take in either order, as multiply-adds: an
/// element gathered along an edge counts as 8. Functions of shapes alone, so that equal batches
/// take equal ways.
struct AggregationShape {
  std::int64_t sources, targets, edges, in, out;
  std::int64_t heads = 1;  ///< aggregated rows of `in` columns; each is multiplied into out / heads

  std::int64_t transformed_first() const;
  std::int64_t aggregated_first() const;
};
/// Whether to multiply by the weights before aggregating: where it takes less.
bool transform_first(const AggregationShape& shape);

}  // namespace sluice::nn
