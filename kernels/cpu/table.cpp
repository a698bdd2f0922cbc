#include "kernels/table.h"

namespace sluice::kernels {

const KernelTable& cpu_kernels() {
  static constexpr KernelTable kTable{&dropout,
                                      &edge_add,
                                      &edge_dot,
                                      &edge_softmax,
                                      &edge_softmax_backward,
                                      &gather_rows,
                                      &segment_max,
                                      &segment_max_backward,
                                      &segment_sum,
                                      &segment_weighted_sum,
                                      &segment_edge_sum,
                                      &widen_rows};
  return kTable;
}

}  // namespace sluice::kernels
