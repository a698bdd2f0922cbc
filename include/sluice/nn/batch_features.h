// Features of a mini-batch as a tensor, whether they came with it or are gathered when asked for.
#pragma once

#include <sluice/batch.h>

#include <torch/torch.h>

#include <cstddef>

namespace sluice::nn {

/// f32 [nodes, columns] of a node type's group: over the batch's array, or gathered now into a new
/// tensor (Batch::deferred). Not of two dimensions where there are none.
torch::Tensor features_of(const Batch& batch, std::size_t type, std::size_t group = 0);

}  // namespace sluice::nn
