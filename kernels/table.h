// KernelTable: the kernels of one device, so that what runs on either calls through one name.
//
//   on(executor).segment_sum(executor, lists, scales, x, out);
#pragma once

#include "kernels/dropout.h"
#include "kernels/edge_pairs.h"
#include "kernels/edge_softmax.h"
#include "kernels/executor.h"
#include "kernels/gather_rows.h"
#include "kernels/segment_max.h"
#include "kernels/segment_sum.h"
#include "kernels/widen_rows.h"

namespace sluice::kernels {

/// Each member is what the header of its name declares.
struct KernelTable {
  decltype(&kernels::dropout) dropout;
  decltype(&kernels::edge_add) edge_add;
  decltype(&kernels::edge_dot) edge_dot;
  decltype(&kernels::edge_softmax) edge_softmax;
  decltype(&kernels::edge_softmax_backward) edge_softmax_backward;
  decltype(&kernels::gather_rows) gather_rows;
  decltype(&kernels::segment_max) segment_max;
  decltype(&kernels::segment_max_backward) segment_max_backward;
  decltype(&kernels::segment_sum) segment_sum;
  decltype(&kernels::segment_weighted_sum) segment_weighted_sum;
  decltype(&kernels::segment_edge_sum) segment_edge_sum;
  decltype(&kernels::widen_rows) widen_rows;
};

const KernelTable& cpu_kernels();

inline const KernelTable& on(const Executor& executor) {
  return executor.table != nullptr ? *executor.table : cpu_kernels();
}

}  // namespace sluice::kernels
