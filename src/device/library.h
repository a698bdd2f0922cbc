// The device library: what a shared library exports to bring a ComputeDevice, and how one is found
// and loaded. CUDA, and LibTorch's CUDA half with it, enter the process through here alone.
#pragma once

#include "device/device.h"

#include <sluice/error.h>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace sluice {

/// What `extern "C" const DeviceLibrary* sluice_device_library()` returns. Program and library are
/// of one build: `build` is compared before anything else of it is touched.
struct DeviceLibrary {
  static constexpr const char* kSymbol = "sluice_device_library";

  std::uint64_t abi = 0;        ///< kAbi of the headers it was compiled with
  const char* build = nullptr;  ///< SLUICE_VERSION and compiler
  /// The first GPU. kResource where there is none that works.
  Result<std::shared_ptr<ComputeDevice>> (*open)() = nullptr;

  /// Counts changes of this struct and of device.h.
  static constexpr std::uint64_t kAbi = 2;
};

/// Version and compiler of this very translation unit.
const char* device_build();

/// The library's file: $SLUICE_CUDA_LIBRARY, else libsluice_cuda.so beside the program, above it,
/// or in its ../lib. Empty where none of these is there.
std::filesystem::path find_device_library();

/// Why this machine cannot have a GPU, from the driver alone (libcuda.so.1), or success.
/// Loads nothing large.
Result<void> probe_driver();

/// Loads the library and opens the GPU. The library stays loaded for the life of the process.
/// @pre no call into LibTorch has been made: it caches what devices there are. Fails with
/// kResource.
Result<std::shared_ptr<ComputeDevice>> load_device(const std::filesystem::path& library);

/// All of that: the GPU of this machine, or, where SLUICE_CUDA_LIBRARY names a library, its own.
/// kResource where there is none that works.
Result<std::shared_ptr<ComputeDevice>> find_device();

}  // namespace sluice
