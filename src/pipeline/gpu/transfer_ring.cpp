#include "pipeline/gpu/transfer_ring.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice {

TransferRing::TransferRing(std::shared_ptr<ComputeDevice> device,
                           MemoryLedger* ledger,
                           MemoryLedger* device_ledger)
    : device_(std::move(device)), ledger_(ledger), device_ledger_(device_ledger) {
  for (std::uint64_t i = 0; i < LoaderMemory::kInFlight; ++i) {
    auto slot = std::make_unique<Slot>();
    slot->sent = device_->make_event().or_throw();
    slot->used = device_->make_event().or_throw();
    free_.push_back(slot.get());
    slots_.push_back(std::move(slot));
  }
}

// Both streams may still be at work on what is freed now; what went wrong there was told before.
TransferRing::~TransferRing() {
  for (const auto& slot : slots_) {
    (void)device_->synchronize(*slot->sent);
    (void)device_->synchronize(*slot->used);
  }
}

TransferRing::Lease TransferRing::acquire(const Sizes& sizes) {
  Slot* slot = nullptr;
  {
    MutexLock lock(mutex_);
    const auto begin = std::chrono::steady_clock::now();
    while (!closed_ && !failure_ && free_.empty()) changed_.wait(lock);
    blocked_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (closed_) return nullptr;
    if (failure_) throw *std::exchange(failure_, std::nullopt);
    slot = free_.front();
    free_.pop_front();
  }
  Lease lease(slot, [ring = shared_from_this()](Slot* done) { ring->give_back(done); });
  device_->synchronize(*slot->sent).or_throw();
  fit(*slot, sizes);
  device_->declare_host(slot->slab.bytes(), Access::kWrite);
  device_->wait(Stream::kCopy, *slot->used).or_throw();
  return lease;
}

void TransferRing::fit(Slot& slot, const Sizes& sizes) {
  if (slot.slab.size() < sizes.slab_bytes) {
    slot.slab = {};
    slot.slab =
        AlignedBuffer::make(
            std::max(sizes.slab_bytes, least_.slab_bytes), ledger_, "transfer slabs", device_)
            .or_throw();
  }
  if (slot.memory.size() >= sizes.device_bytes) return;
  device_->synchronize(*slot.used).or_throw();
  slot.memory = {};
  slot.memory = DeviceBuffer::make(device_,
                                   std::max(sizes.device_bytes, least_.device_bytes),
                                   device_ledger_,
                                   "mini-batches in flight")
                    .or_throw();
}

void TransferRing::sent(Slot& slot) {
  device_->record(*slot.sent, Stream::kCopy).or_throw();
}

void TransferRing::broken_off(Slot& slot) noexcept {
  (void)device_->record(*slot.sent, Stream::kCopy);
}

void TransferRing::check() {
  const MutexLock lock(mutex_);
  if (failure_) throw *std::exchange(failure_, std::nullopt);
}

void TransferRing::deliver(const Slot& slot) {
  device_->wait(Stream::kCompute, *slot.sent).or_throw();
  device_->declare(Stream::kCompute, {slot.memory.data(), slot.memory.size()}, Access::kRead);
}

void TransferRing::wait_until_sent(const Slot& slot) {
  device_->synchronize(*slot.sent).or_throw();
}

void TransferRing::give_back(Slot* slot) noexcept {
  auto recorded = device_->record(*slot->used, Stream::kCompute);
  const MutexLock lock(mutex_);
  if (!recorded) failure_ = std::move(recorded).error();
  free_.push_back(slot);
  changed_.notify_all();
}

void TransferRing::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void TransferRing::open() {
  const MutexLock lock(mutex_);
  closed_ = false;
}

double TransferRing::blocked() const {
  const MutexLock lock(mutex_);
  return blocked_;
}

}  // namespace sluice
