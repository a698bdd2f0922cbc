// The GPU in a program with a loop of its own: mini-batches arrive in its memory, models and their
// kernels run there. Torch-free.
//
//   const std::shared_ptr<ComputeDevice> gpu = open_gpu();  // before anything of LibTorch
//   MemoryLedger of_gpu(memory_of(*gpu).free_bytes / 4, "GPU");
//   GraphData data(dataset, {.compute = gpu, .compute_ledger = &of_gpu}, 0);
//   ModelContext context{schema, {0}, width, key, &threads, kernels_of(gpu.get())};
//   model->to(nn::device_of(space_of(gpu.get())));
//
// A null device is the CPU, so that one program does for both.
#pragma once

#include <sluice/array.h>
#include <sluice/executor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace sluice {

/// A GPU, or what stands for one in tests; made by open_gpu() and handed on.
class ComputeDevice;

/// The first GPU of this machine (CUDA_VISIBLE_DEVICES), by the library libsluice_cuda.so: beside
/// the program, above it, in its ../lib, or where SLUICE_CUDA_LIBRARY says. It brings in the CUDA
/// half of LibTorch, which looks for GPUs when it is first called: call this before. Throws
/// kResource, with what is missing.
std::shared_ptr<ComputeDevice> open_gpu();

struct DeviceMemory {
  std::string name;  ///< of the GPU
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  ///< now
};
DeviceMemory memory_of(const ComputeDevice& device);

/// Keeps LibTorch's pool on the device within so many bytes: beyond, tensors are refused. Without
/// it the pool takes what it wants. Throws kResource.
void limit_tensors(ComputeDevice& device, std::uint64_t bytes);

/// What ModelContext::kernels and nn::LearnedRows want; null of null.
const kernels::KernelTable* kernels_of(const ComputeDevice* device);

/// Where mini-batches and tensors are: for nn::device_of().
MemorySpace space_of(const ComputeDevice* device);

}  // namespace sluice
