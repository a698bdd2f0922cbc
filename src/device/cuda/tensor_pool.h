// LibTorch's caching allocator on the GPU: the one file of the device library that calls LibTorch.
#pragma once

#include "device/device.h"

#include <cstdint>

namespace sluice {

/// Starts LibTorch's CUDA half. kResource where it cannot.
Result<void> start_tensor_pool();
/// Beyond `bytes` of the GPU's `total` tensors are refused (c10::OutOfMemoryError).
Result<void> limit_tensor_pool(std::uint64_t bytes, std::uint64_t total);
TensorPool read_tensor_pool();
void reset_tensor_pool_peak();

}  // namespace sluice
