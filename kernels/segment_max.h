// segment_max: elementwise maximum of listed rows, with the backward that follows the winners.
#pragma once

#include "kernels/views.h"

#include <sluice/executor.h>

#include <cstdint>

namespace sluice::kernels {

/// out[i, c] = max over the items s of list i of x[s, c], and winner[i, c] the position of the
/// first edge that attains it; an empty list gives 0 and -1. NaN is more than any number.
/// @pre out.count == winner.count == lists.count, all widths equal
void segment_max(const Executor& executor,
                 const RowLists& lists,
                 FloatRows x,
                 Rows<float> out,
                 Rows<std::int32_t> winner);

/// grad_x[s, c] = sum over the targets t of s, by edge e, of grad_out[t, c] where winner[t, c] ==
/// e.
/// @param lists of segment_max  @param transposed the same edges: sources list their targets, with
/// `edges` set, ascending
void segment_max_backward(const Executor& executor,
                          const RowLists& lists,
                          const RowLists& transposed,
                          Rows<const std::int32_t> winner,
                          Rows<const float> grad_out,
                          Rows<float> grad_x);

}  // namespace sluice::kernels
