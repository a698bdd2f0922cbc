// HgtConv: a heterogeneous graph transformer's layer (Hu et al. 2020) over sampled blocks.
//
//   q, k, v = Q_type x, K_type x, V_type x, by heads
//   e(s, r, t) = (k_s W_att_r) . q_t  prior_r / sqrt(width / heads)
//   m_t = sum over all in-edges of softmax(e)(s, r, t) (v_s W_msg_r)
//   out_t = norm(g A_type gelu(m_t) + (1 - g) x_t),  g = sigmoid(skip_type)
//
// The softmax is one over all in-edges of a node, of all relations. The matrices of relations are
// applied to the targets' side, before and after: q_t W_att_r^T . k_s and (sum of weighted v_s)
// W_msg_r are the same, and a block has several times fewer targets than sources.
#pragma once

#include <sluice/nn/linear.h>
#include <sluice/nn/union_block.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::nn {

struct HgtConvOptions {
  std::int64_t width = 0;                ///< of the rows that are read and of those that are made
  std::int64_t heads = 1;                ///< divide `width`
  std::vector<std::size_t> written;      ///< node types that get new rows
  std::vector<TypedRelation> relations;  ///< by which edges lead into those
  std::size_t num_types = 0;
  std::size_t num_relations = 0;  ///< of the schema
  double dropout = 0;             ///< share of elements of what A gives, in training
};

class HgtConv : public torch::nn::Module {
 public:
  HgtConv(HgtConvOptions options, RandomKey key);

  /// @param layer made of the batch's layer @param call its block is not looked at
  /// @param x by node type: [rows read, width]; undefined for a type without
  /// @return by node type: [targets, width]; undefined for a type without
  std::vector<torch::Tensor> forward(const UnionBlock& layer,
                                     const LayerCall& call,
                                     const std::vector<torch::Tensor>& x) const;

 private:
  // Of a node type; null where the type has no such part.
  struct Type {
    std::shared_ptr<Linear> query, key, value, out;
    torch::Tensor skip;  // f32 [1]
    std::shared_ptr<torch::nn::LayerNormImpl> norm;
  };
  // Of a relation; undefined where its edges lead into no type that is written.
  struct Relation {
    torch::Tensor attention, message;  // f32 [width, width / heads]: head by head
    torch::Tensor prior;               // f32 [heads]
  };

  torch::Tensor attention(const UnionBlock& layer,
                          const LayerCall& call,
                          const std::vector<torch::Tensor>& x) const;
  torch::Tensor by_heads(std::size_t type,
                         const torch::Tensor& x,
                         const torch::Tensor& weight) const;

  HgtConvOptions options_;
  std::vector<Type> types_;
  std::vector<Relation> relations_;
};

}  // namespace sluice::nn
