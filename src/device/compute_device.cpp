#include <sluice/compute_device.h>

#include "device/device.h"
#include "device/library.h"

namespace sluice {

std::shared_ptr<ComputeDevice> open_gpu() {
  return find_device().or_throw();
}

DeviceMemory memory_of(const ComputeDevice& device) {
  const DeviceInfo info = device.info();
  return {info.name, info.total_bytes, info.free_bytes};
}

void limit_tensors(ComputeDevice& device, std::uint64_t bytes) {
  device.limit_tensors(bytes).or_throw();
}

const kernels::KernelTable* kernels_of(const ComputeDevice* device) {
  return device == nullptr ? nullptr : &device->kernels();
}

MemorySpace space_of(const ComputeDevice* device) {
  return device == nullptr ? MemorySpace::kHost : device->space();
}

}  // namespace sluice
