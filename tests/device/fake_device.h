// FakeDevice: a ComputeDevice in host memory, to test on a CPU what surrounds a GPU.
//
// What is queued runs late: at some later call, in a random order among those that streams and
// events allow, or only when somebody waits for it. Until a copy has run, its target holds rubbish.
// The compute stream is LibTorch's on the CPU, which runs at once: whatever it has to wait for runs
// then. All of it is checked: two uses of the same memory that nothing orders, a source that
// changes while it is queued, memory given back while it may be in use. What was found is kept, and
// the call that met it fails. Thread-safe.
#pragma once

#include "device/device.h"
#include "device/happens_before.h"

#include <sluice/mutex.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sluice::test {

/// A bug to plant: calls that are dropped without a word.
enum class Forget {
  kNothing,
  kComputeWaits,  ///< the compute stream does not wait for copies
  kCopyWaits,     ///< the copy stream does not wait for what the compute stream still reads
  kHostWaits      ///< the host does not wait for copies
};

class FakeDevice final : public ComputeDevice {
 public:
  struct Options {
    std::uint64_t seed = 1;  ///< of the order of execution
    std::uint64_t bytes = std::uint64_t{1} << 30;
    Forget forget = Forget::kNothing;
    bool refuse_pinning = false;
    bool refuse_kernels = false;  ///< of the copy stream: as a launch that a GPU does not take
  };
  explicit FakeDevice(const Options& options);
  ~FakeDevice() override;

  std::vector<std::string> violations() const;
  /// Work that is queued and has not run.
  std::size_t queued() const;
  std::uint64_t allocated() const;
  std::uint64_t pinned() const;
  /// How often memory was pinned so far.
  std::uint64_t pinnings() const;
  /// From now on no event is recorded: the device says that it cannot.
  void refuse_recordings();

  DeviceInfo info() const override;
  MemorySpace space() const override { return MemorySpace::kHost; }
  const kernels::KernelTable& kernels() const override;
  void* handle(Stream stream) const override;
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
  void declare(Stream stream, std::span<const std::byte> memory, Access access) override;
  void declare_host(std::span<const std::byte> memory, Access access) override;
  Result<void> limit_tensors(std::uint64_t) override { return {}; }
  TensorPool tensor_pool() const override { return {}; }
  void reset_tensor_peak() override {}

  /// The fake's kernels on the copy stream, widen_rows and spread_rows: queued like a copy.
  /// @param row_bytes that the kernel may read of each row @param widen runs the CPU's kernel
  void queue_rows(Stream stream,
                  std::size_t row_bytes,
                  const std::byte* const* rows,
                  kernels::Rows<float> out,
                  std::function<void()> widen);

 private:
  struct Event;
  struct Operation {
    std::function<void()> run;
    /// A wait: the recording that must have run, or null.
    std::shared_ptr<bool> needs;
    /// Copies: what they read and write.
    std::span<const std::byte> source;
    std::span<std::byte> target;
    bool copies = false;  ///< target is source, byte for byte
  };
  struct Handle {
    FakeDevice* device;
    Stream stream;
  };

  // What is queued runs under the mutex too: in step().
  void push(Stream stream, Operation operation) SLUICE_REQUIRES(mutex_);
  void note(Actor actor, std::span<const std::byte> memory, Access access) SLUICE_REQUIRES(mutex_);
  void violation(const std::string& text) SLUICE_REQUIRES(mutex_);
  Result<void> outcome() SLUICE_REQUIRES(mutex_);
  bool step() SLUICE_REQUIRES(mutex_);
  void progress() SLUICE_REQUIRES(mutex_);
  void run_until(const std::function<bool()>& done) SLUICE_REQUIRES(mutex_);
  void poison(std::span<std::byte> target) SLUICE_REQUIRES(mutex_);
  void drop(std::span<const std::byte> memory) SLUICE_REQUIRES(mutex_);
  std::vector<const std::byte*> addresses_to_come(const std::byte* const* rows,
                                                  std::size_t count) const SLUICE_REQUIRES(mutex_);
  std::deque<Operation>& queue(Stream stream) SLUICE_REQUIRES(mutex_) {
    return queues_[stream == Stream::kCompute ? 0 : 1];
  }

  Options options_;
  mutable Mutex mutex_;
  HappensBefore order_ SLUICE_GUARDED_BY(mutex_);
  std::deque<Operation> queues_[2] SLUICE_GUARDED_BY(mutex_);
  std::map<std::byte*, std::uint64_t> allocated_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::byte*, std::uint64_t> pinned_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t pinnings_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool refuse_recordings_ SLUICE_GUARDED_BY(mutex_) = false;
  std::uint64_t draws_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> violations_ SLUICE_GUARDED_BY(mutex_);
  std::size_t told_ SLUICE_GUARDED_BY(mutex_) = 0;  // violations that a call has failed with
  mutable Handle handles_[2];
};

}  // namespace sluice::test
