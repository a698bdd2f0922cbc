// BlendedRows: the first half of BG-HGNN (Su et al. 2024): one row a node, the same few matrices
// for all types and relations, of three things:
//
//   z = relu(sum over k of w_k [(x; 1) A_k * (t; 1) B_k * (c; 1) C_k] + b)
//   x: what there is of the node, in its type's block of columns
//   t: its type's fixed random code
//   c: the mean over its in-edges, in the whole graph, of their relations' fixed random codes
//
// The blocks of x are never put together: a type's rows go through its rows of A alone. And c is
// shares of relations, [nodes, relations], times the codes through C, [relations, rank * width]:
// nothing is as wide as a code for each node. The paper's c counts a node's out-edges too, with the
// opposite sign: here these are in-edges of the reverse relations, with codes of their own.
//
// Codes are drawn by the model's key and lie among its buffers, and so in checkpoints.
#pragma once

#include <sluice/models/input_rows.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::models {

struct BlendOptions {
  std::int64_t width = 64;
  std::int64_t rank = 4;
  std::int64_t code_width = 512;
};

class BlendedRows final : public InputRows {
 public:
  /// @param read node types, by number @param context its rows must outlive this
  BlendedRows(const BlendOptions& options,
              const ModelContext& context,
              const std::vector<bool>& read);

  std::int64_t width() const override { return options_.width; }
  BatchNeeds needs() const override;
  /// Throws kInternal for a batch without the degrees by relation.
  std::vector<torch::Tensor> forward(const Batch& batch) const override;

 private:
  // f32 [nodes, relations into the type].
  torch::Tensor shares(const Batch& batch, std::size_t type) const;
  // Factors of the blend: f32 [nodes or 1, rank * width].
  torch::Tensor of_features(const Batch& batch, std::size_t type) const;
  torch::Tensor of_relations(const Batch& batch, std::size_t type) const;

  BlendOptions options_;
  std::vector<bool> read_;
  std::vector<NodeRows> rows_;                            // by node type
  std::vector<std::shared_ptr<nn::Linear>> by_features_;  // A by node type; null: has no columns
  torch::Tensor by_type_, by_relation_;                   // B, C: f32 [r * w, code_width]
  torch::Tensor one_of_features_, one_of_type_, one_of_relation_;  // the rows of the 1: [1, r * w]
  torch::Tensor rank_weights_, bias_;                              // f32 [rank, 1], [width]
  torch::Tensor type_codes_, relation_codes_;  // f32 [types or relations, code_width]
  std::vector<torch::Tensor> relations_into_;  // i64, by node type: numbers of relations
};

}  // namespace sluice::models
