#include "device/buffer.h"

#include <utility>

namespace sluice {

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(charge_, other.charge_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) device_->free(data_);
}

Result<DeviceBuffer> DeviceBuffer::make(std::shared_ptr<ComputeDevice> device,
                                        std::uint64_t bytes,
                                        MemoryLedger* ledger,
                                        std::string_view name) {
  DeviceBuffer buffer;
  if (ledger != nullptr) {
    auto charge = ledger->charge(name, bytes);
    if (!charge) return std::move(charge).error();
    buffer.charge_ = std::move(charge).value();
  }
  auto data = device->allocate(bytes);
  if (!data) return std::move(data).error();
  buffer.data_ = data.value();
  buffer.size_ = bytes;
  buffer.device_ = std::move(device);
  return buffer;
}

}  // namespace sluice
