// GatConv: graph attention (Velickovic et al. 2018) over a sampled block, by heads.
//
//   z = x W^T;  e(s, t) = leaky_relu(a_source . z_s + a_target . z_t)
//   out_t = sum over sampled s and t itself of softmax(e)(s, t) z_s, heads side by side or averaged
// The own row is one more entry of the softmax: the self-loop needs no edge in the block. A self
// edge that the graph already has counts as a neighbour besides.
//
// Where that takes fewer operations, rows of x are weighed and summed first and multiplied then,
// head by head: W_h (sum over s of w_h(s, t) x_s) is the same. So z is made of targets alone, of
// which a block has several times fewer than sources. Logits are f32
// whatever the precision.
#pragma once

#include <sluice/nn/layer_call.h>
#include <sluice/nn/linear.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::nn {

enum class Heads { kConcat, kAverage };

struct GatConvOptions {
  std::int64_t in = 0;
  std::int64_t heads = 1;
  std::int64_t head_width = 0;
  Heads join = Heads::kConcat;
  double negative_slope = 0.2;
  double attention_dropout = 0;
};

class GatConv : public torch::nn::Module {
 public:
  GatConv(const GatConvOptions& options, RandomKey key);

  std::int64_t out() const;

  /// @param x [num_sources, in]; the result is [num_targets, out()]
  torch::Tensor forward(const LayerCall& call, const torch::Tensor& x) const;

 private:
  torch::Tensor columns_of(const torch::Tensor& attention) const;

  GatConvOptions options_;
  std::shared_ptr<Linear> linear_;
  torch::Tensor source_attention_, target_attention_, bias_;
};

}  // namespace sluice::nn
