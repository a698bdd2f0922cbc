#include "prep/table/arrow_memory.h"

#include <arrow/status.h>

#include <algorithm>

namespace sluice {

// Less never fails.
arrow::Status LedgerMemoryPool::change(std::int64_t difference) {
  const MutexLock lock(mutex_);
  auto changed = charge_.resize(static_cast<std::uint64_t>(used_ + difference));
  if (!changed) {
    if (!refusal_) refusal_ = std::move(changed).error();
    if (refused_ == Refused::kFails) return arrow::Status::OutOfMemory(refusal_->message());
  }
  used_ += difference;
  peak_ = std::max(peak_, used_);
  if (difference > 0) {
    total_ += difference;
    ++count_;
  }
  return arrow::Status::OK();
}

arrow::Status LedgerMemoryPool::Allocate(std::int64_t size,
                                         std::int64_t alignment,
                                         std::uint8_t** out) {
  if (size < 0) return arrow::Status::Invalid("a buffer of a negative size");  // a damaged file's
  ARROW_RETURN_NOT_OK(change(size));
  const arrow::Status status = system_.Allocate(size, alignment, out);
  return status.ok() ? status : status & change(-size);
}

arrow::Status LedgerMemoryPool::Reallocate(std::int64_t old_size,
                                           std::int64_t new_size,
                                           std::int64_t alignment,
                                           std::uint8_t** buffer) {
  if (new_size < 0) return arrow::Status::Invalid("a buffer of a negative size");
  ARROW_RETURN_NOT_OK(change(new_size - old_size));
  const arrow::Status status = system_.Reallocate(old_size, new_size, alignment, buffer);
  return status.ok() ? status : status & change(old_size - new_size);
}

void LedgerMemoryPool::Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) {
  system_.Free(buffer, size, alignment);
  const arrow::Status less = change(-size);
  static_cast<void>(less);
}

std::int64_t LedgerMemoryPool::bytes_allocated() const {
  const MutexLock lock(mutex_);
  return used_;
}

std::int64_t LedgerMemoryPool::max_memory() const {
  const MutexLock lock(mutex_);
  return peak_;
}

std::int64_t LedgerMemoryPool::total_bytes_allocated() const {
  const MutexLock lock(mutex_);
  return total_;
}

std::int64_t LedgerMemoryPool::num_allocations() const {
  const MutexLock lock(mutex_);
  return count_;
}

std::optional<Error> LedgerMemoryPool::refusal() const {
  const MutexLock lock(mutex_);
  return refusal_;
}

}  // namespace sluice
