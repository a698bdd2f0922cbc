// SimpleHgnConv: Simple-HGN's layer (Lv et al., KDD 2021): graph attention over all nodes in one
// list that knows each edge's relation.
//
//   z = x W^T;  e(s, r, t) = leaky_relu(a_source . z_s + a_target . z_t + a_relation . W_r u_r)
//   w = (1 - beta) softmax(e) + beta w',  w' the layer before's weight of the same edge
//   out_t = sum over in-edges and t itself of w z_s (+ W_res x_t), heads side by side or averaged
//
// The own row is one more entry of the softmax, whose relation has a row u of its own. An edge that
// the layer before did not draw has no w': its weight is the softmax's. With whole neighbourhoods,
// and with neighbours drawn once, every edge has one.
#pragma once

#include <sluice/nn/gat_conv.h>
#include <sluice/nn/linear.h>
#include <sluice/nn/union_block.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::nn {

struct SimpleHgnConvOptions {
  std::int64_t in = 0;
  std::int64_t heads = 1;
  std::int64_t head_width = 0;
  Heads join = Heads::kConcat;
  std::int64_t relations = 1;        ///< of edges, without the own rows'
  std::int64_t relation_width = 64;  ///< of a relation's row u
  double negative_slope = 0.05;
  double attention_dropout = 0;
  double kept_attention = 0.05;  ///< beta; of layers that are given weights
  bool residual = false;         ///< W_res
};

/// A layer's weights, for the next layer: constants. As many heads as that has.
struct LayerAttention {
  torch::Tensor keys;              ///< i64 [edges], ascending
  torch::Tensor edges;             ///< f32 [edges, heads]
  std::vector<torch::Tensor> own;  ///< by node type: f32 [targets, heads]
};

class SimpleHgnConv : public torch::nn::Module {
 public:
  SimpleHgnConv(const SimpleHgnConvOptions& options, RandomKey key);

  std::int64_t out() const;

  /// @param call its block is not looked at
  /// @param x [sources, in], in the union's list; the result is [targets, out()]
  /// @param before the layer before's weights; null: none are mixed in
  /// @param made becomes this layer's weights; null: nobody asks
  torch::Tensor forward(const UnionBlock& layer,
                        const LayerCall& call,
                        const torch::Tensor& x,
                        const LayerAttention* before = nullptr,
                        LayerAttention* made = nullptr) const;

 private:
  torch::Tensor relation_logits() const;

  SimpleHgnConvOptions options_;
  std::shared_ptr<Linear> linear_, residual_, relation_linear_;
  torch::Tensor relation_rows_;  // f32 [relations + 1, relation_width]; the last: of own rows
  torch::Tensor source_attention_, target_attention_, relation_attention_;  // [heads, head_width]
  torch::Tensor bias_;
};

}  // namespace sluice::nn
