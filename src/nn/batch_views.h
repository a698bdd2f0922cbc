// Views of a mini-batch: the same nodes with fewer edges, or fewer layers. What an edge or a node
// of a view is, is a function of a key and of ids, so it is the same in all layers and
// mini-batches. Views share what they leave as it is; made on the device that the batch is on.
#pragma once

#include <sluice/batch.h>
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>

namespace sluice::nn {

/// A block of the edges that are kept, in their order. @param keep bool [edges]
Block kept_edges(const Block& block, const torch::Tensor& keep);

/// Each edge is left out with probability `rate`, by its ends' ids. At 0 the batch itself.
Batch with_dropped_edges(const Batch& batch, RandomKey key, double rate);

/// Each node loses its edges with probability `rate`: those of which it is an end. At 0 the batch
/// itself.
Batch with_dropped_nodes(const Batch& batch, RandomKey key, double rate);

/// The first layers of blocks, whose seeds are the nodes that the layers behind read. Queries and
/// labels stay those of the whole. @pre at most the batch's layers
Batch first_layers(const Batch& batch, std::int64_t layers);

/// Ids of a type's nodes in the batch: i64 [nodes].
torch::Tensor node_ids(const Batch& batch, std::size_t type);

/// Which of some nodes the batch's blocks link, in any layer and direction: bool [n, n], symmetric.
/// @param rows i64 [n]: distinct rows of a node type
torch::Tensor linked_pairs(const Batch& batch, std::size_t type, const torch::Tensor& rows);

}  // namespace sluice::nn
