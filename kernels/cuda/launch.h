// How the CUDA kernels split their rows: a warp a row, eight warps a block, columns over the lanes.
#pragma once

#include <sluice/executor.h>

#include <cuda_runtime.h>

#include <cstdint>

namespace sluice::kernels::cuda {

inline constexpr int kLanes = 32;
inline constexpr int kWarps = 8;  // of a block

/// The row of the calling warp.
__device__ inline std::int64_t warp_row() {
  return static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kLanes;
}
__device__ inline int lane() {
  return static_cast<int>(threadIdx.x % kLanes);
}

/// Throws kResource where the GPU did not take the kernel just launched. @param name of it
void check_launch(const char* name);

/// A kernel that gives each row a warp; nothing for no rows.
template <class... Arguments>
void launch_rows(const char* name,
                 const Executor& executor,
                 std::int64_t rows,
                 void (*kernel)(std::int64_t rows, Arguments...),
                 Arguments... arguments) {
  if (rows <= 0) return;
  const auto blocks = static_cast<unsigned int>((rows + kWarps - 1) / kWarps);
  kernel<<<blocks, kWarps * kLanes, 0, static_cast<cudaStream_t>(executor.stream)>>>(rows,
                                                                                     arguments...);
  check_launch(name);
}

/// One that gives each element a thread.
template <class... Arguments>
void launch_elements(const char* name,
                     const Executor& executor,
                     std::int64_t elements,
                     void (*kernel)(std::int64_t elements, Arguments...),
                     Arguments... arguments) {
  constexpr int kThreads = kWarps * kLanes;
  if (elements <= 0) return;
  const auto blocks = static_cast<unsigned int>((elements + kThreads - 1) / kThreads);
  kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(executor.stream)>>>(elements,
                                                                              arguments...);
  check_launch(name);
}

__device__ inline std::int64_t thread_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace sluice::kernels::cuda
