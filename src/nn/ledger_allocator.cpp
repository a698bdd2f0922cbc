#include <sluice/nn/ledger_allocator.h>

#include <sluice/mutex.h>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace sluice::nn {
namespace {

/// Above the default allocator's 0: SetCPUAllocator ignores a lower priority than the last one.
constexpr std::uint8_t kPriority = 100;

/// Room before the data for the receipt; the data keeps LibTorch's alignment of 64.
constexpr std::size_t kHeaderBytes = 64;

}  // namespace

class LedgerAllocation::Allocator final : public c10::Allocator,
                                          public std::enable_shared_from_this<Allocator> {
 public:
  explicit Allocator(std::shared_ptr<MemoryLedger> ledger)
      : ledger_(std::move(ledger)), charge_(ledger_->charge(kName, 0).or_throw()) {}

  c10::DataPtr allocate(std::size_t size) override {
    const MemoryBlock block = take(size + kHeaderBytes);
    auto* base = static_cast<std::byte*>(block.data);
    new (base) Header{shared_from_this(), block.bytes};
    void* data = base + kHeaderBytes;
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

  std::uint64_t bytes() const {
    const MutexLock lock(mutex_);
    return charge_.bytes();
  }
  std::uint64_t peak() const {
    const MutexLock lock(mutex_);
    return peak_;
  }

 private:
  /// Lies before each allocation: how LibTorch's plain deleter finds its way back.
  struct Header {
    std::shared_ptr<Allocator> owner;
    std::uint64_t bytes;
  };
  static_assert(sizeof(Header) <= kHeaderBytes);

  static void release(void* data) {
    if (data == nullptr) return;
    std::byte* base = static_cast<std::byte*>(data) - kHeaderBytes;
    auto* header = std::launder(reinterpret_cast<Header*>(base));
    const Header last = std::move(*header);  // may be what keeps the ledger alive
    header->~Header();
    last.owner->give({base, last.bytes});
  }

  MemoryBlock take(std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    const MemoryBlock block = ledger_->take_block(bytes, charge_).or_throw();
    peak_ = std::max(peak_, charge_.bytes());
    return block;
  }

  void give(const MemoryBlock& block) {
    const MutexLock lock(mutex_);
    ledger_->give_block(block, charge_);
  }

  std::shared_ptr<MemoryLedger> ledger_;
  mutable Mutex mutex_;
  Charge charge_ SLUICE_GUARDED_BY(mutex_);  ///< after ledger_: dies first
  std::uint64_t peak_ SLUICE_GUARDED_BY(mutex_) = 0;
};

LedgerAllocation::LedgerAllocation(std::shared_ptr<MemoryLedger> ledger)
    : allocator_(std::make_shared<Allocator>(std::move(ledger))) {
  c10::SetCPUAllocator(allocator_.get(), kPriority);
}

LedgerAllocation::~LedgerAllocation() {
  c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), kPriority);
}

std::uint64_t LedgerAllocation::bytes() const {
  return allocator_->bytes();
}

std::uint64_t LedgerAllocation::peak() const {
  return allocator_->peak();
}

}  // namespace sluice::nn
