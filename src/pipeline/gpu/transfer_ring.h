// TransferRing: the mini-batches in flight to a GPU. Each slot is a pinned slab on the host and
// the memory on the GPU that it is copied to, made once and used in turn.
//
//   Lease slot = ring->acquire(sizes);      // the slab may be written to
//   ... fill slot->slab; queue copies and kernels on Stream::kCopy ...
//   ring->sent(*slot);                      // marks the end of what was queued
//   ring->deliver(*slot);                   // what follows on Stream::kCompute may read the memory
//   slot.reset();                           // all of its use is queued: the slot goes round
//
// Order is kept by two events a slot and never by waiting for a whole stream: a slab is written
// again once its copy is through (the host waits), the GPU's memory once the model's steps on it
// are (the copy stream waits). One thread acquires and sends; leases die on any.
#pragma once

#include "core/condition_variable.h"
#include "device/buffer.h"
#include "device/device.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/loader.h>
#include <sluice/memory.h>
#include <sluice/mutex.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace sluice {

class TransferRing : public std::enable_shared_from_this<TransferRing> {
 public:
  struct Slot {
    AlignedBuffer slab;
    DeviceBuffer memory;
    std::unique_ptr<DeviceEvent> sent;  ///< all that was queued on the copy stream is through
    std::unique_ptr<DeviceEvent> used;  ///< all that was queued on the compute stream is through
  };
  /// Goes back to the ring when its last copy dies.
  using Lease = std::shared_ptr<Slot>;

  struct Sizes {
    std::uint64_t slab_bytes = 0;
    std::uint64_t device_bytes = 0;
  };

  /// @param ledger of the host, charged with "transfer slabs"  @param device_ledger of the GPU,
  /// with "mini-batches in flight". Both must outlive the ring and all leases. Throws Error.
  TransferRing(std::shared_ptr<ComputeDevice> device,
               MemoryLedger* ledger,
               MemoryLedger* device_ledger);
  TransferRing(const TransferRing&) = delete;
  TransferRing& operator=(const TransferRing&) = delete;
  ~TransferRing();

  ComputeDevice& device() const { return *device_; }

  /// What slots are made for at least, from now on.
  void reserve(const Sizes& least) { least_ = least; }

  /// Waits for a slot. Null once closed. Throws kResource where a ledger has no room.
  Lease acquire(const Sizes& sizes);
  void sent(Slot& slot);
  /// The same where queueing broke off with an error, so that what was queued is waited for.
  void broken_off(Slot& slot) noexcept;
  void deliver(const Slot& slot);

  /// The host waits until the slot's copies are through: its sources may be written to again.
  void wait_until_sent(const Slot& slot);

  /// Throws what went wrong when a lease died, unless acquire() did: for the end of a run.
  void check();

  /// Wakes whoever waits for a slot; acquire gives none until open() is called.
  void close();
  void open();

  /// Seconds that acquire() waited for a slot.
  double blocked() const;

 private:
  void fit(Slot& slot, const Sizes& sizes);
  void give_back(Slot* slot) noexcept;

  std::shared_ptr<ComputeDevice> device_;
  MemoryLedger* ledger_;
  MemoryLedger* device_ledger_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Sizes least_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Slot*> free_ SLUICE_GUARDED_BY(mutex_);  // the one that is free for longest first
  bool closed_ SLUICE_GUARDED_BY(mutex_) = false;
  std::optional<Error> failure_
      SLUICE_GUARDED_BY(mutex_);  // of a give_back: for the next acquire or check
  double blocked_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
