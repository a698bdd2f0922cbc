// Differentiable operations over a block, each over a kernel of `kernels/`.
//
// Inputs are f32 matrices, sources [num_sources, .] and targets [num_targets, .]; rows that are
// summed may be bf16, as precision.h's products are, and their sums are f32. Gradients flow
// through the transposed block in a fixed order; none is computed for an input that needs none.
#pragma once

#include <sluice/nn/layer_call.h>
#include <sluice/nn/precision.h>

#include <torch/torch.h>

#include <cstdint>
#include <utility>

namespace sluice::nn {

/// out[t] = target_scale[t] * sum over the sources s of t of source_scale[s] * x[s], and
/// own_scale[t] * x[t] besides where there is an own_scale. The scales are constants (no gradient),
/// f32 vectors; undefined for 1. @param x f32 or bf16
torch::Tensor sum_neighbours(const LayerCall& call,
                             const torch::Tensor& x,
                             const torch::Tensor& source_scale,
                             const torch::Tensor& target_scale,
                             const torch::Tensor& own_scale = {});

/// out[t] = own_weight x[t] + own_bias + neighbour_weight y[t], with y[t] = target_scale[t] * sum
/// over the sources s of t of x[s]: in one operation, so that no gradient of x is made twice and
/// added.
torch::Tensor sum_and_transform(const LayerCall& call,
                                Precision precision,
                                const torch::Tensor& x,
                                const torch::Tensor& target_scale,
                                const torch::Tensor& own_weight,
                                const torch::Tensor& own_bias,
                                const torch::Tensor& neighbour_weight);

/// Elementwise maximum over the sources; 0 where there are none. @param x f32 or bf16
torch::Tensor max_neighbours(const LayerCall& call, const torch::Tensor& x);

/// Whether heads have columns of their own, side by side, or all read the same ones.
enum class Columns { kOfHeads, kShared };

/// out[t, h, :] = own_weights[t, h] * x[t, h, :] + sum over the edges e from s to t of
/// weights[e, h] * x[s, h, :]; where columns are shared, x[s, :] stands for each x[s, h, :].
/// @param weights [edges, heads]  @param own_weights [targets, heads]; undefined: no own rows
/// @param x [sources, heads * width] or, shared, [sources, width]; f32 or bf16
/// @return [targets, heads * width]
torch::Tensor weigh_neighbours(const LayerCall& call,
                               Columns columns,
                               const torch::Tensor& weights,
                               const torch::Tensor& own_weights,
                               const torch::Tensor& x);

/// out[e, b] = coefficients[r, b] / n for an edge e of relation r, where n of its target's edges
/// are of relation r: what weighs neighbours into a mean by relation. No gradient of `relations`.
/// @param coefficients [relations, b]  @param relations i64 [edges], each below that
torch::Tensor relation_weights(const LayerCall& call,
                               const torch::Tensor& coefficients,
                               const torch::Tensor& relations);

/// out[e, h] = from_target[t, h] + from_source[s, h].
torch::Tensor add_ends(const LayerCall& call,
                       const torch::Tensor& from_target,
                       const torch::Tensor& from_source);

/// out[e, h] = the scalar product of from_target[t, h, :] and from_source[s, h, :].
/// @param from_target [targets, heads * width]  @param from_source [sources, heads * width]
torch::Tensor dot_ends(const LayerCall& call,
                       std::int64_t heads,
                       const torch::Tensor& from_target,
                       const torch::Tensor& from_source);

/// Softmax over each target's edges and its own row (the self-loop): the weights of the edges and
/// of the own rows. @param logits [edges, heads]  @param own_logits [targets, heads]
std::pair<torch::Tensor, torch::Tensor> edge_softmax(const LayerCall& call,
                                                     const torch::Tensor& logits,
                                                     const torch::Tensor& own_logits);

/// The same over each target's edges alone: the weights of the edges.
torch::Tensor edge_softmax(const LayerCall& call, const torch::Tensor& logits);

/// Zeroes each element with probability `rate` and scales the rest by 1 / (1 - rate); the mask is a
/// function of `key` and the element's place.
torch::Tensor dropout(const kernels::Executor& executor,
                      RandomKey key,
                      double rate,
                      const torch::Tensor& x);

/// Edges sampled for each target, f32 [targets].
torch::Tensor sampled_degrees(const Block& block);

}  // namespace sluice::nn
