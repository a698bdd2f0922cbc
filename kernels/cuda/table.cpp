#include "kernels/cuda/table.h"

#include <sluice/error.h>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace sluice::kernels::cuda {

const KernelTable& cuda_kernels() {
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

void check_launch(const char* name) {
  const cudaError_t code = cudaGetLastError();
  if (code == cudaSuccess) return;
  throw Error(ErrorCode::kResource,
              fmt::format("the GPU refused kernel '{}': {}", name, cudaGetErrorString(code)),
              "sluice-train doctor says what the GPU is; the kernels are built for sm_80, sm_90 "
              "and sm_100");
}

}  // namespace sluice::kernels::cuda
