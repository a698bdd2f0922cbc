// GcnConv: graph convolution (Kipf and Welling 2017) over a sampled block.
//
// With D the in-degree in the whole graph and k the number of sampled in-edges of a target t:
//   symmetric  y_t = x_t / (D_t + 1) + (D_t / k_t) * sum over sampled s of
//                    x_s / sqrt((D_s + 1) (D_t + 1))
//   mean       y_t = (x_t + sum over sampled s of x_s) / (k_t + 1)
// and out = y W^T + b. On full neighbourhoods (k = D) `symmetric` is exactly
// D^-1/2 (A + I) D^-1/2; on samples it is an unbiased estimate of it. A self edge that the graph
// already has counts as a neighbour besides.
#pragma once

#include <sluice/nn/layer_call.h>
#include <sluice/nn/linear.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::nn {

enum class GcnNorm { kSymmetric, kMean };

class GcnConv : public torch::nn::Module {
 public:
  GcnConv(std::int64_t in, std::int64_t out, GcnNorm norm, RandomKey key);

  /// @param x [num_sources, in]; the result is [num_targets, out]
  /// @param degrees i64 [>= num_sources], in-degrees in the graph; only read for `kSymmetric`
  torch::Tensor forward(const LayerCall& call,
                        const torch::Tensor& x,
                        const torch::Tensor& degrees) const;

 private:
  torch::Tensor propagate(const LayerCall& call,
                          const torch::Tensor& x,
                          const torch::Tensor& degrees) const;

  GcnNorm norm_;
  std::shared_ptr<Linear> linear_;
  torch::Tensor bias_;
};

}  // namespace sluice::nn
