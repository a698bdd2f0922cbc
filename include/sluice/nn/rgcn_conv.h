// RgcnConv: R-GCN (Schlichtkrull et al. 2018) over sampled blocks. Each relation has a matrix of
// its own, a sum of a few that all of them share (their basis); a node adds up the mean of its
// neighbours by each relation, through that relation's matrix, and its own row through another.
//
// A relation here is whatever an edge is told apart by: the relation of its block, its label, its
// direction. Blocks may be of several node types, whose rows are equally wide.
#pragma once

#include <sluice/nn/layer_call.h>
#include <sluice/nn/linear.h>
#include <sluice/nn/pending_rows.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::nn {

/// A block, and the relation of its edges.
struct RelationBlock {
  BlockRef block;
  torch::Tensor relations;    ///< of each edge: i64 [edges], on its device; undefined: of all edges
  std::int64_t relation = 0;  ///< then this one
};

struct RgcnConvOptions {
  std::int64_t in = 0, out = 0;
  std::int64_t relations = 1;
  std::int64_t bases = 1;  ///< as many as relations: matrices that have nothing in common
};

class RgcnConv : public torch::nn::Module {
 public:
  RgcnConv(const RgcnConvOptions& options, RandomKey key);

  /// @param blocks of a layer; relations of different blocks may be the same
  /// @param x by node type: [rows, in]; undefined for a type without, or one whose rows are left
  /// out: what a layer gives is the sum of what it gives of each type's rows alone. Pending
  /// rows are summed before their map where that takes less
  /// @param targets by node type: how many rows, the first, get new ones
  /// @return by node type: [targets, out]; undefined for a type without
  std::vector<torch::Tensor> forward(const kernels::Executor& executor,
                                     const std::vector<RelationBlock>& blocks,
                                     std::vector<PendingRows> x,
                                     const std::vector<std::int64_t>& targets) const;

 private:
  bool by_matrix(const RelationBlock& block, const std::vector<RelationBlock>& blocks) const;
  void finish(std::vector<PendingRows>& x, const std::vector<RelationBlock>& blocks) const;
  void add_by_matrix(const kernels::Executor& executor,
                     const std::vector<RelationBlock>& blocks,
                     const std::vector<PendingRows>& x,
                     std::vector<torch::Tensor>& out) const;
  void add_by_basis(const kernels::Executor& executor,
                    const std::vector<RelationBlock>& blocks,
                    const std::vector<PendingRows>& x,
                    std::vector<torch::Tensor>& out) const;

  std::shared_ptr<Linear> own_;
  std::shared_ptr<Linear> bases_;  // the matrices of the basis, side by side: [out, bases * in]
  torch::Tensor coefficients_;     // f32 [relations, bases]
};

}  // namespace sluice::nn
