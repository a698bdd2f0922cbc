// What tests of layers over several node types share: a mini-batch of two types, whose three
// relations lead into both.
#pragma once

#include "nn/support.h"  // IWYU pragma: export

#include <sluice/nn/union_block.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::testing {

using SourceLists = std::vector<std::vector<std::int32_t>>;

/// A block of a relation between two types.
inline Block typed_block(std::size_t relation,
                         std::size_t source_type,
                         std::size_t target_type,
                         Block block) {
  block.relation = relation;
  block.source_type = source_type;
  block.target_type = target_type;
  return block;
}

/// Rows of both types at each layer's boundary, inputs first.
inline Batch batch_of_types(const std::vector<std::int64_t>& first,
                            const std::vector<std::int64_t>& second) {
  Batch batch;
  batch.nodes.resize(2);
  batch.nodes[0].size_at = first;
  batch.nodes[1].size_at = second;
  for (BatchNodes& nodes : batch.nodes)
    nodes.ids = array_of(std::vector<std::uint64_t>(static_cast<std::size_t>(nodes.size_at[0])));
  batch.layers.resize(first.size() - 1);
  return batch;
}

/// One layer: 12 rows of type 0 and 9 of type 1, of which 5 and 4 get new ones.
inline Batch typed_layer(std::uint64_t seed) {
  Batch batch = batch_of_types({12, 5}, {9, 4});
  batch.layers[0] = {typed_block(0, 1, 0, random_block(9, 5, 6, seed)),
                     typed_block(1, 0, 0, random_block(12, 5, 4, seed + 1)),
                     typed_block(2, 0, 1, random_block(12, 4, 5, seed + 2))};
  return batch;
}

inline std::vector<nn::TypedRelation> typed_layer_relations() {
  return {{0, 1, 0}, {1, 0, 0}, {2, 0, 1}};
}

inline nn::LayerTypes both_types() {
  return {{true, true}, {true, true}};
}

/// Sums over edges by target: [targets, ...].
inline torch::Tensor sum_by_target(const torch::Tensor& of_edges,
                                   const torch::Tensor& targets,
                                   std::int64_t count) {
  std::vector<std::int64_t> shape = of_edges.sizes().vec();
  shape[0] = count;
  return torch::zeros(shape, of_edges.options()).index_add(0, targets, of_edges);
}

/// By head, the softmax over each target's edges and `own` (undefined: over edges alone).
inline std::pair<torch::Tensor, torch::Tensor> plain_softmax(const torch::Tensor& logits,
                                                             const torch::Tensor& targets,
                                                             std::int64_t count,
                                                             const torch::Tensor& own = {}) {
  const torch::Tensor powers = logits.exp();
  torch::Tensor sums = sum_by_target(powers, targets, count);
  if (own.defined()) sums = sums + own.exp();
  return {powers / sums.index_select(0, targets),
          own.defined() ? own.exp() / sums : torch::Tensor()};
}

}  // namespace sluice::testing
