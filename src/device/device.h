// ComputeDevice: the seam to a GPU: its memory, its two streams, events between them, and the
// kernels that run there.
//
// A stream is a queue: what is given to it runs later, in order, while the host goes on. Between
// streams, and between a stream and the host, only events order anything: `record` marks a place in
// a stream, `wait` keeps another stream from going beyond it, `synchronize` keeps the host. Whoever
// gives memory to a stream keeps it alive and untouched until an event says that it is done with.
//
// Implemented by the CUDA library (device/cuda, loaded at run time by device/library.h) and, for
// tests, by a fake that runs everything late and checks the order (tests/device). Thread-safe.
// Neither loads nor needs LibTorch above this seam.
#pragma once

#include "core/host_pinning.h"
#include "kernels/table.h"

#include <sluice/array.h>
#include <sluice/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice {

enum class Stream {
  kCompute,  ///< LibTorch's own: models run here
  kCopy      ///< mini-batches on their way to the GPU
};

enum class Access { kRead, kWrite };

struct DeviceInfo {
  std::string kind;     ///< "cuda"
  std::string name;     ///< "NVIDIA H100 80GB HBM3"
  std::string version;  ///< of its compute capability, driver and runtime, for the log
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  ///< now
};

/// Bytes that LibTorch's pool on the device holds, whether tensors use them or not.
struct TensorPool {
  std::uint64_t held = 0;
  std::uint64_t peak = 0;  ///< most since reset_tensor_peak()
};

/// A place in a stream; a handle of the device that made it, which it must not outlive.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
};

class ComputeDevice : public HostPinning {
 public:
  virtual DeviceInfo info() const = 0;
  /// Where tensors over this device's memory are.
  virtual MemorySpace space() const = 0;
  virtual const kernels::KernelTable& kernels() const = 0;
  /// What kernels::Executor::stream wants.
  virtual void* handle(Stream stream) const = 0;

  /// At least 256-byte aligned, of undefined content. Fails with kResource.
  virtual Result<std::byte*> allocate(std::uint64_t bytes) = 0;
  /// @pre no stream still uses it
  virtual void free(std::byte* memory) noexcept = 0;

  /// Queue a copy. Host memory that is pinned is read or written while the host goes on; other
  /// memory may hold up the host.
  virtual Result<void> copy_in(Stream stream,
                               std::span<const std::byte> host,
                               std::byte* device) = 0;
  virtual Result<void> copy_out(Stream stream,
                                const std::byte* device,
                                std::span<std::byte> host) = 0;

  virtual Result<std::unique_ptr<DeviceEvent>> make_event() = 0;
  virtual Result<void> record(DeviceEvent& event, Stream stream) = 0;
  /// What is given to `stream` from now on runs after the event's last recording; one that was
  /// never recorded holds up nothing.
  virtual Result<void> wait(Stream stream, const DeviceEvent& event) = 0;
  /// Returns once the event's last recording is passed; reports what went wrong on the device.
  virtual Result<void> synchronize(const DeviceEvent& event) = 0;
  /// Seconds between two recordings that are passed.
  virtual Result<double> seconds_between(const DeviceEvent& begin, const DeviceEvent& end) = 0;

  /// Says that what runs on `stream` from here on, or the host, uses the memory although no call
  /// above shows it. For devices that check the order; a GPU does nothing.
  virtual void declare(Stream /*stream*/,
                       std::span<const std::byte> /*memory*/,
                       Access /*access*/) {}
  virtual void declare_host(std::span<const std::byte> /*memory*/, Access /*access*/) {}

  /// Keeps LibTorch's pool on the device within `bytes`: beyond, tensors are refused.
  virtual Result<void> limit_tensors(std::uint64_t bytes) = 0;
  virtual TensorPool tensor_pool() const = 0;
  virtual void reset_tensor_peak() = 0;
};

}  // namespace sluice
