// Floors: rows of nodes that nobody learned. What learned rows must beat to be worth their
// training.
//
// Raw features are the first of them, as they are. Rows do not depend on threads.
#pragma once

#include "probe/plain_graph.h"

#include <sluice/random.h>
#include <sluice/threads.h>

#include <torch/torch.h>

#include <cstdint>

namespace sluice::probe {

/// D^-1/2 (A + I) D^-1/2 applied `hops` times (SGC, Wu et al. 2019), A both ways, D with self
/// loops.
/// @param features f32 [n, d] @return f32 [n, d]
torch::Tensor sgc_rows(const torch::Tensor& features,
                       const PlainGraph& graph,
                       std::int64_t hops,
                       ThreadArena& threads);

struct RandomEncoderOptions {
  std::int64_t width = 256;
  std::int64_t layers = 2;
};

/// A graph convolution network that was never trained: layers of the same propagation, weights by
/// Glorot from the key, and a leaky ReLU of slope .25 (where PReLU begins).
/// @return f32 [n, width]
torch::Tensor random_encoder_rows(const torch::Tensor& features,
                                  const PlainGraph& graph,
                                  const RandomEncoderOptions& options,
                                  RandomKey key,
                                  ThreadArena& threads);

}  // namespace sluice::probe
