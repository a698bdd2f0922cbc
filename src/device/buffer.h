// DeviceBuffer: memory on a device, charged to the device's ledger, given back when it dies.
#pragma once

#include "device/device.h"

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice {

/// Move-only.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer();

  /// Fails with kResource when the ledger or the device has no room.
  static Result<DeviceBuffer> make(std::shared_ptr<ComputeDevice> device,
                                   std::uint64_t bytes,
                                   MemoryLedger* ledger,
                                   std::string_view name);

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }

 private:
  std::shared_ptr<ComputeDevice> device_;
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  Charge charge_;
};

}  // namespace sluice
