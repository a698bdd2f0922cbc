// LedgerAllocation: charges what LibTorch's CPU allocator hands out to the memory ledger, as
// "tensors".
//
// Over the budget an allocation throws sluice::Error(kResource) with the ledger's table, out of
// whatever tensor operation asked for it. Allocations may outlive the scope: each keeps the ledger
// alive and gives its bytes back when it dies. Thread-safe between construction and destruction,
// which must happen while no other thread uses LibTorch.
#pragma once

#include <sluice/memory.h>

#include <cstdint>
#include <memory>

namespace sluice::nn {

class LedgerAllocation {
 public:
  static constexpr const char* kName = "tensors";  ///< of the charge

  /// Installs itself; LibTorch's own allocator is put back by the destructor. One at a time.
  explicit LedgerAllocation(std::shared_ptr<MemoryLedger> ledger);
  LedgerAllocation(const LedgerAllocation&) = delete;
  LedgerAllocation& operator=(const LedgerAllocation&) = delete;
  ~LedgerAllocation();

  /// Bytes of tensors alive that were allocated under this scope, as charged.
  std::uint64_t bytes() const;
  /// The most that they ever were.
  std::uint64_t peak() const;

 private:
  class Allocator;
  std::shared_ptr<Allocator> allocator_;
};

}  // namespace sluice::nn
