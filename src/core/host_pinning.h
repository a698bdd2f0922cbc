// HostPinning: a device that wants to know of host memory before it reads from it, so that it reads
// at full speed while the host goes on. Pinned: such a piece of memory, for as long as it lives.
#pragma once

#include <sluice/error.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace sluice {

/// Thread-safe.
class HostPinning {
 public:
  virtual ~HostPinning() = default;
  /// Locks the pages of `memory` and maps them for the device. Memory is pinned once at a time.
  virtual Result<void> pin(std::span<std::byte> memory) = 0;
  /// Takes it back, before the memory is freed. @pre nothing on the device still reads it
  virtual void unpin(std::span<std::byte> memory) noexcept = 0;

  /// Why memory was refused, the first time that some was: it works all the same, and whoever runs
  /// on the device has to say that it is slow.
  std::optional<Error> refusal() const {
    const std::scoped_lock lock(mutex_);
    return refusal_;
  }

 private:
  friend class Pinned;
  void refused(Error why) {
    const std::scoped_lock lock(mutex_);
    if (!refusal_) refusal_ = std::move(why);
  }

  mutable std::mutex mutex_;
  std::optional<Error> refusal_;
};

/// Move-only; empty where there is no device, or where it refused, which it remembers: the memory
/// then works all the same, more slowly.
class Pinned {
 public:
  Pinned() = default;
  Pinned(std::shared_ptr<HostPinning> device, std::span<std::byte> memory) {
    if (device == nullptr || memory.empty()) return;
    if (auto pinned = device->pin(memory); !pinned) {
      device->refused(std::move(pinned).error());
      return;
    }
    device_ = std::move(device);
    memory_ = memory;
  }
  Pinned(Pinned&& other) noexcept
      : device_(std::move(other.device_)), memory_(std::exchange(other.memory_, {})) {}
  Pinned& operator=(Pinned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { release(); }

  bool held() const noexcept { return device_ != nullptr; }
  void release() noexcept {
    if (device_ != nullptr) device_->unpin(memory_);
    device_ = nullptr;
  }

 private:
  std::shared_ptr<HostPinning> device_;
  std::span<std::byte> memory_;
};

}  // namespace sluice
