// edge_softmax: attention weights, normalised over each target's edges and its own row (the
// self-loop, kept apart so that no block has to be rebuilt with it).
#pragma once

#include "kernels/views.h"

#include <sluice/executor.h>

namespace sluice::kernels {

/// By head: softmax over {logits[e] of the edges of list i, own_logits[i]}.
/// @pre logits.count == lists.num_items(), own_logits.count == lists.count, all widths equal;
///   lists.edges is null
void edge_softmax(const Executor& executor,
                  const RowLists& lists,
                  Rows<const float> logits,
                  Rows<const float> own_logits,
                  Rows<float> weights,
                  Rows<float> own_weights);

/// The gradients of the logits, from the weights and their gradients.
void edge_softmax_backward(const Executor& executor,
                           const RowLists& lists,
                           Rows<const float> weights,
                           Rows<const float> own_weights,
                           Rows<const float> grad_weights,
                           Rows<const float> grad_own_weights,
                           Rows<float> grad_logits,
                           Rows<float> grad_own_logits);

}  // namespace sluice::kernels
