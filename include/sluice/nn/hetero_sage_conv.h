// HeteroSageConv: a GraphSAGE layer a relation, summed (Hamilton et al. 2017 over several node
// types): a node adds up its own row through its type's matrix and, by each relation, an aggregate
// of its sampled neighbours' through that relation's.
//
// The own matrices that a layer a relation would have are one, which is their sum. Where halves
// stand side by side, own rows make one and all relations together the other.
#pragma once

#include <sluice/nn/layer_call.h>
#include <sluice/nn/linear.h>
#include <sluice/nn/pending_rows.h>
#include <sluice/nn/sage_conv.h>
#include <sluice/nn/union_block.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::nn {

struct HeteroSageConvOptions {
  SageConvOptions sage;
  std::vector<std::size_t> written;      ///< node types that get new rows
  std::vector<TypedRelation> relations;  ///< by which edges lead into those
  std::size_t num_types = 0;
  std::size_t num_relations = 0;  ///< of the schema
};

class HeteroSageConv : public torch::nn::Module {
 public:
  HeteroSageConv(const HeteroSageConvOptions& options, RandomKey key);

  /// @param blocks of a layer, into types that are written
  /// @param x by node type: [rows read, in]; undefined for a type without, or one whose rows are
  /// left out: what a layer gives is the sum of what it gives of each type's rows alone. Pending
  /// rows are summed before their map where that takes less
  /// @param targets by node type: how many rows, the first, get new ones
  /// @return by node type: [targets, out]; undefined for a type without
  std::vector<torch::Tensor> forward(const LayerCall& call,
                                     const std::vector<BlockRef>& blocks,
                                     std::vector<PendingRows> x,
                                     const std::vector<std::int64_t>& targets) const;

 private:
  void finish(std::vector<PendingRows>& x, const std::vector<BlockRef>& blocks) const;
  torch::Tensor aggregate(const LayerCall& over, const PendingRows& x) const;
  torch::Tensor joined(torch::Tensor own, const torch::Tensor& neighbours) const;

  SageConvOptions options_;
  std::int64_t neighbours_out_;
  std::vector<std::shared_ptr<Linear>> own_;         // by node type; null: none is written
  std::vector<std::shared_ptr<Linear>> neighbours_;  // by relation
};

}  // namespace sluice::nn
