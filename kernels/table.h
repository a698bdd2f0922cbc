// KernelTable: the kernels of one device, so that what runs on either calls through one name.
//
//   on(executor).segment_sum(executor, lists, scales, x, out);
#pragma once

#include "kernels/dropout.h"
#include "kernels/edge_pairs.h"
#include "kernels/edge_softmax.h"
#include "kernels/gather_rows.h"
#include "kernels/row_updates.h"
#include "kernels/segment_max.h"
#include "kernels/segment_sum.h"
#include "kernels/softmax_rows.h"
#include "kernels/spread_rows.h"
#include "kernels/widen_rows.h"

#include <sluice/executor.h>

namespace sluice::kernels {

// All kernels: what a table holds and what a device has twins of follow from this list and their
// headers.
// clang-format off
#define SLUICE_KERNELS(EACH)                                           \
  EACH(dropout)                                                        \
  EACH(edge_add) EACH(edge_dot)                                        \
  EACH(edge_softmax) EACH(edge_softmax_backward)                       \
  EACH(gather_rows)                                                    \
  EACH(sgd_rows) EACH(adagrad_rows) EACH(adagrad_mean_rows)            \
  EACH(adam_rows)                                                      \
  EACH(segment_max) EACH(segment_max_backward)                         \
  EACH(segment_sum) EACH(segment_weighted_sum) EACH(segment_edge_sum)  \
  EACH(softmax_sums) EACH(softmax_shares)                              \
  EACH(spread_rows)                                                    \
  EACH(widen_rows)
// clang-format on

/// Each member is what the header of its name declares.
struct KernelTable {
#define SLUICE_MEMBER(name) decltype(&kernels::name) name;
  SLUICE_KERNELS(SLUICE_MEMBER)
#undef SLUICE_MEMBER
};

const KernelTable& cpu_kernels();

inline const KernelTable& on(const Executor& executor) {
  return executor.table != nullptr ? *executor.table : cpu_kernels();
}

}  // namespace sluice::kernels
