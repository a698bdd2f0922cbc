#include "kernels/cuda/table.h"

#include <sluice/error.h>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace sluice::kernels::cuda {

const KernelTable& cuda_kernels() {
#define SLUICE_ADDRESS(name) &name,
  static constexpr KernelTable kTable{SLUICE_KERNELS(SLUICE_ADDRESS)};
#undef SLUICE_ADDRESS
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
