// LedgerMemoryPool: Arrow's allocations, charged to the memory ledger as "arrow". Thread-safe. It
// must outlive every Arrow object made from it, and its ledger must outlive it.
//
// Arrow's CSV parser aborts the process when an allocation fails, so what the ledger refuses is
// given all the same, unless asked otherwise, and remembered: the reader looks at refusal() after
// each block and ends with that error. The overdraft is a few blocks.
#pragma once

#include <sluice/memory.h>
#include <sluice/mutex.h>

#include <arrow/memory_pool.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

/// What becomes of an allocation that the ledger refuses.
enum class Refused {
  kGiven,  ///< it is made all the same
  kFails   ///< it fails: for the parts of Arrow that can bear it (Parquet, IPC)
};

class LedgerMemoryPool final : public arrow::MemoryPool {
 public:
  explicit LedgerMemoryPool(MemoryLedger& ledger, Refused refused = Refused::kGiven)
      : refused_(refused), charge_(ledger.charge("arrow", 0).or_throw()) {}

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;
  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override;
  arrow::Status Reallocate(std::int64_t old_size,
                           std::int64_t new_size,
                           std::int64_t alignment,
                           std::uint8_t** buffer) override;
  void Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) override;

  std::int64_t bytes_allocated() const override;
  std::int64_t max_memory() const override;
  std::int64_t total_bytes_allocated() const override;
  std::int64_t num_allocations() const override;
  std::string backend_name() const override { return "sluice ledger"; }

  /// The ledger's first refusal.
  std::optional<Error> refusal() const;

 private:
  arrow::Status change(std::int64_t difference);

  arrow::MemoryPool& system_ = *arrow::system_memory_pool();
  const Refused refused_;
  mutable Mutex mutex_;
  Charge charge_ SLUICE_GUARDED_BY(mutex_);
  std::int64_t used_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::int64_t peak_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::int64_t total_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::int64_t count_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::optional<Error> refusal_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
