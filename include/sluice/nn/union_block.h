// UnionBlock: the blocks of a layer as one, over the nodes of all types: what a layer needs that
// looks at all in-edges of a node together, whatever their relations, as a softmax over them does.
//
// Rows of all types stand in one list, targets of all types first, then the other sources, so that
// a union block is a Block like any other (its `relation` and types are 0). A target's edges come
// relation by relation, and so do a source's in the transpose. One block over one type is itself:
// nothing is copied. Used by one thread at a time; made on the device that the batch is on.
#pragma once

#include <sluice/batch.h>
#include <sluice/nn/layer_call.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::nn {

/// By node type: whether a layer reads rows of it, and whether it writes some. What is written is
/// read too.
struct LayerTypes {
  std::vector<bool> read, written;
};

/// A relation by its number in the schema, and its ends' node types.
struct TypedRelation {
  std::size_t relation = 0, source_type = 0, target_type = 0;
};

class UnionBlock {
 public:
  /// Of a layer's blocks into types that are written; rows of other types are left out. Throws
  /// kInternal for a batch with fewer layers.
  UnionBlock(const Batch& batch, std::size_t layer, const LayerTypes& types);

  /// With a transpose where all blocks have theirs.
  const BlockRef& block() const { return block_; }
  /// Its blocks, in the order of relations.
  const std::vector<BlockRef>& blocks() const { return blocks_; }

  /// Rows of all types in one list: f32 [sources, columns].
  /// @param rows by node type: [rows read, columns]; undefined for a type without
  torch::Tensor join(const std::vector<torch::Tensor>& rows) const;
  /// Rows of targets by node type; undefined for a type without.
  std::vector<torch::Tensor> split(const torch::Tensor& targets) const;
  std::int64_t num_targets(std::size_t type) const { return targets_.at(type); }

  /// Rows of edges, block after block, in the order of the union's edges; and back.
  torch::Tensor by_target(const torch::Tensor& by_block) const;
  torch::Tensor by_block(const torch::Tensor& by_target) const;

  /// i64 [edges], in the union's order: each edge's relation.
  torch::Tensor relations() const;
  /// i64 [edges], in the union's order: numbers that tell (relation, target, source) apart, the
  /// same in all layers of a batch.
  torch::Tensor edge_keys() const;

 private:
  void count_rows(const Batch& batch, std::size_t layer, const LayerTypes& types);
  void merge();
  void merge_transposes(Block& merged) const;
  torch::Tensor source_rows(const torch::Tensor& local, std::size_t type) const;

  std::vector<BlockRef> blocks_;
  BlockRef block_;
  // By node type.
  std::vector<std::int64_t> sources_, targets_, target_begins_, rest_begins_;
  std::int64_t num_sources_ = 0, num_targets_ = 0;
  std::int64_t most_rows_ = 1;  // of a type, in the whole batch
  // i64 [edges]: where the edges go that stand block after block, and the inverse; undefined: both
  // orders are one.
  torch::Tensor places_, order_;
};

}  // namespace sluice::nn
