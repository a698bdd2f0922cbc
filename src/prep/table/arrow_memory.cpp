#include "prep/table/arrow_memory.h"

#include <arrow/status.h>

#include <algorithm>

namespace sluice {

void LedgerMemoryPool::change(std::int64_t difference) {
  const std::scoped_lock lock(mutex_);
  used_ += difference;
  peak_ = std::max(peak_, used_);
  if (difference > 0) {
    total_ += difference;
    ++count_;
  }
  auto changed = charge_.resize(static_cast<std::uint64_t>(used_));
  if (!changed && !refusal_) refusal_ = std::move(changed).error();
}

arrow::Status LedgerMemoryPool::Allocate(std::int64_t size,
                                         std::int64_t alignment,
                                         std::uint8_t** out) {
  ARROW_RETURN_NOT_OK(system_.Allocate(size, alignment, out));
  change(size);
  return arrow::Status::OK();
}

arrow::Status LedgerMemoryPool::Reallocate(std::int64_t old_size,
                                           std::int64_t new_size,
                                           std::int64_t alignment,
                                           std::uint8_t** buffer) {
  ARROW_RETURN_NOT_OK(system_.Reallocate(old_size, new_size, alignment, buffer));
  change(new_size - old_size);
  return arrow::Status::OK();
}

void LedgerMemoryPool::Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) {
  system_.Free(buffer, size, alignment);
  change(-size);
}

std::int64_t LedgerMemoryPool::bytes_allocated() const {
  const std::scoped_lock lock(mutex_);
  return used_;
}

std::int64_t LedgerMemoryPool::max_memory() const {
  const std::scoped_lock lock(mutex_);
  return peak_;
}

std::int64_t LedgerMemoryPool::total_bytes_allocated() const {
  const std::scoped_lock lock(mutex_);
  return total_;
}

std::int64_t LedgerMemoryPool::num_allocations() const {
  const std::scoped_lock lock(mutex_);
  return count_;
}

std::optional<Error> LedgerMemoryPool::refusal() const {
  const std::scoped_lock lock(mutex_);
  return refusal_;
}

}  // namespace sluice
