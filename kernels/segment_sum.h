// segment_sum: sums of listed rows, the core of mean and GCN aggregation and of their backward
// (which is the same sum over the transposed lists with the two scales exchanged).
#pragma once

#include "kernels/executor.h"
#include "kernels/views.h"

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

/// out[i, h, :] = sum over the items s of list i, by edge e, of weights[e, h] * x[s, h, :], and
/// own_weights[i, h] * x[i, h, :] besides for i < own_weights.count; a row of x is weights.width
/// heads side by side.
/// @pre as above; x.width is a multiple of weights.width
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
