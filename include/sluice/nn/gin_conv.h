// GinConv: graph isomorphism layer (Xu et al. 2019) over a sampled block.
//
//   out_t = MLP((1 + eps) x_t + (D_t / k_t) * sum over sampled s of x_s)
// with D the in-degree in the whole graph and k the sampled in-edges: on full neighbourhoods the
// plain sum, on samples an unbiased estimate of it, so that training and full evaluation see sums
// of one size. The MLP is linear, ReLU, linear.
#pragma once

#include <sluice/nn/layer_call.h>
#include <sluice/nn/linear.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::nn {

struct GinConvOptions {
  std::int64_t in = 0, hidden = 0, out = 0;
  double epsilon = 0;  ///< where the learnable eps starts
};

class GinConv : public torch::nn::Module {
 public:
  GinConv(const GinConvOptions& options, RandomKey key);

  /// @param x [num_sources, in]; the result is [num_targets, out]
  /// @param degrees i64 [>= num_targets], in-degrees in the graph
  torch::Tensor forward(const LayerCall& call,
                        const torch::Tensor& x,
                        const torch::Tensor& degrees) const;

 private:
  torch::Tensor epsilon_;
  std::shared_ptr<Linear> first_, second_;
};

}  // namespace sluice::nn
