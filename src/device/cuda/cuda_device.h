// CudaDevice: the first NVIDIA GPU as a ComputeDevice. The compute stream is CUDA's default one,
// which is LibTorch's; the copy stream is a non-blocking one of its own.
#pragma once

#include "device/device.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

namespace sluice {

class CudaDevice final : public ComputeDevice {
 public:
  /// Starts CUDA and LibTorch's pool on the GPU. kResource where it cannot.
  static Result<std::shared_ptr<ComputeDevice>> open();
  ~CudaDevice() override;

  DeviceInfo info() const override;
  MemorySpace space() const override { return MemorySpace::kCuda; }
  const kernels::KernelTable& kernels() const override;
  void* handle(Stream stream) const override { return stream_of(stream); }
  Result<std::byte*> allocate(std::uint64_t bytes) override;
  void free(std::byte* memory) noexcept override;
  Result<void> pin(std::span<std::byte> memory) override;
  void unpin(std::span<std::byte> memory) noexcept override;
  Result<void> copy_in(Stream stream, std::span<const std::byte> host, std::byte* device) override;
  Result<void> copy_out(Stream stream, const std::byte* device, std::span<std::byte> host) override;
  Result<std::unique_ptr<DeviceEvent>> make_event() override;
  Result<void> record(DeviceEvent& event, Stream stream) override;
  Result<void> wait(Stream stream, const DeviceEvent& event) override;
  Result<void> synchronize(const DeviceEvent& event) override;
  Result<double> seconds_between(const DeviceEvent& begin, const DeviceEvent& end) override;
  Result<void> limit_tensors(std::uint64_t bytes) override;
  TensorPool tensor_pool() const override;
  void reset_tensor_peak() override;

 private:
  CudaDevice() = default;
  cudaStream_t stream_of(Stream stream) const {
    return stream == Stream::kCopy ? copy_ : cudaStream_t{};
  }

  cudaDeviceProp properties_{};
  cudaStream_t copy_ = nullptr;
  bool pins_ = false;  // kernels may use the host's own addresses of pinned memory
};

}  // namespace sluice
