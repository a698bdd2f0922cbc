// What the library shows: device/library.h.
#include "device/cuda/cuda_device.h"
#include "device/library.h"

extern "C" __attribute__((visibility("default"))) const sluice::DeviceLibrary*
sluice_device_library() {
  static const sluice::DeviceLibrary library{
      sluice::DeviceLibrary::kAbi, sluice::device_build(), &sluice::CudaDevice::open};
  return &library;
}
