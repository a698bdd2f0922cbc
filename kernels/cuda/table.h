// The CUDA kernels as a table: what the device library hands out.
#pragma once

#include "kernels/table.h"

namespace sluice::kernels::cuda {

const KernelTable& cuda_kernels();

// The twins of what kernels/<name>.h declares; memory is the device's, or pinned.
void dropout(const Executor& executor,
             RandomKey key,
             double rate,
             const float* x,
             float* out,
             std::int64_t count);
void edge_add(const Executor& executor,
              const RowLists& lists,
              Rows<const float> from_list,
              Rows<const float> from_item,
              Rows<float> out);
void edge_dot(const Executor& executor,
              const RowLists& lists,
              Rows<const float> from_list,
              FloatRows from_item,
              Rows<float> out);
void edge_softmax(const Executor& executor,
                  const RowLists& lists,
                  Rows<const float> logits,
                  Rows<const float> own_logits,
                  Rows<float> weights,
                  Rows<float> own_weights);
void edge_softmax_backward(const Executor& executor,
                           const RowLists& lists,
                           Rows<const float> weights,
                           Rows<const float> own_weights,
                           Rows<const float> grad_weights,
                           Rows<const float> grad_own_weights,
                           Rows<float> grad_logits,
                           Rows<float> grad_own_logits);
void gather_rows(const Executor& executor, FloatRows x, const std::int64_t* index, Rows<float> out);
void segment_max(const Executor& executor,
                 const RowLists& lists,
                 FloatRows x,
                 Rows<float> out,
                 Rows<std::int32_t> winner);
void segment_max_backward(const Executor& executor,
                          const RowLists& lists,
                          const RowLists& transposed,
                          Rows<const std::int32_t> winner,
                          Rows<const float> grad_out,
                          Rows<float> grad_x);
void segment_sum(const Executor& executor,
                 const RowLists& lists,
                 const SegmentScales& scales,
                 FloatRows x,
                 Rows<float> out);
void segment_weighted_sum(const Executor& executor,
                          const RowLists& lists,
                          Rows<const float> weights,
                          Rows<const float> own_weights,
                          FloatRows x,
                          Rows<float> out);
void segment_edge_sum(const Executor& executor,
                      const RowLists& lists,
                      Rows<const float> values,
                      Rows<float> out);
void widen_rows(const Executor& executor,
                DType dtype,
                const std::byte* const* rows,
                Rows<float> out);

}  // namespace sluice::kernels::cuda
