// segment_sum: sums of listed rows, the core of mean and GCN aggregation and of their backward
// (which is the same sum over the transposed lists with the two scales exchanged).
#pragma once

#include "kernels/views.h"

#include <sluice/executor.h>

namespace sluice::kernels {

/// Factors by row; null: 1.
struct SegmentScales {
  const float* item = nullptr;  ///< [rows of x]
  const float* list = nullptr;  ///< [lists.count]
  /// [own_count]: of a list's own row, the self-loop, which is added last. A block's targets are
  /// the first of its sources: list i has row i of x, for i < own_count, also through the
  /// transpose.
  const float* own = nullptr;
  std::int64_t own_count = 0;
};

/// out[i] = scales.list[i] * sum over the items s of list i of scales.item[s] * x[s], and
/// scales.own[i] * x[i] besides.
/// @pre out.count == lists.count, out.width == x.width, every item < x.count; out overlaps nothing
void segment_sum(const Executor& executor,
                 const RowLists& lists,
                 const SegmentScales& scales,
                 FloatRows x,
                 Rows<float> out);

/// How the columns of x and of the sums belong to the heads of weights.
struct HeadColumns {
  std::int64_t heads, width;
  std::int64_t x_step;    ///< from a head's columns of x to the next head's; 0: they share them
  std::int64_t out_step;  ///< the same of the sums; 0: the heads' sums are added up

  HeadColumns(std::int64_t num_heads, std::int64_t x_width, std::int64_t out_width)
      : heads(num_heads),
        width(x_width == out_width ? (heads == 0 ? 0 : x_width / heads)
                                   : (x_width < out_width ? x_width : out_width)),
        x_step(x_width < out_width ? 0 : width),
        out_step(out_width < x_width ? 0 : width) {}
};

/// out[i, h, :] = sum over the items s of list i, by edge e, of weights[e, h] * x[s, h, :], and
/// own_weights[i, h] * x[i, h, :] besides for i < own_weights.count. With weights.width heads, rows
/// of x and out are heads side by side; or each head weighs all of x[s, :], and out is `heads`
/// times as wide; or its transpose, where x is `heads` times as wide as out: out[i, :] is the sum
/// over the heads.
/// @pre as above, but for the width of x: out.width, out.width / heads or out.width * heads
void segment_weighted_sum(const Executor& executor,
                          const RowLists& lists,
                          Rows<const float> weights,
                          Rows<const float> own_weights,
                          FloatRows x,
                          Rows<float> out);

/// out[i] = sum over the edges e of list i of values[e].
/// @pre out.count == lists.count, out.width == values.width
void segment_edge_sum(const Executor& executor,
                      const RowLists& lists,
                      Rows<const float> values,
                      Rows<float> out);

}  // namespace sluice::kernels
