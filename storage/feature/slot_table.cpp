#include "storage/feature/slot_table.h"

#include <utility>

#include <sys/mman.h>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastSlotPagesAhead = 16 << 20;  // smaller tables do without a thread

}  // namespace

SlotTable::SlotTable(std::size_t row_bytes,
                     std::uint32_t slots,
                     std::shared_ptr<HostPinning> device,
                     MemoryLedger* ledger)
    : row_bytes_(row_bytes), slots_(slots), device_(std::move(device)), ledger_(ledger) {
  (void)all();
}

std::span<std::byte> SlotTable::first(std::uint32_t slots) {
  // Memory that a device knows of is all there at once.
  const std::uint64_t bytes = bytes_of(device_ ? slots_ : slots, row_bytes_);
  if (ledger_ != nullptr && charge_.bytes() < bytes) {
    if (charge_.bytes() == 0) {
      charge_ = ledger_->charge("feature cache", bytes).or_throw();
    } else {
      charge_.resize(bytes).or_throw();
    }
  }
  if (held_ < bytes) held_ = bytes;
  if (data_.size() == 0 && slots_ != 0)
    data_ = AlignedBuffer::make(row_bytes_ * slots_, nullptr, "feature cache", device_).or_throw();
  if (!device_ && bytes >= kLeastSlotPagesAhead && (!pages_ || pages_->size() < bytes))
    pages_ = std::make_unique<PagesAhead>(data_.bytes().first(bytes));
  return {data_.data(), std::size_t{slots} * row_bytes_};
}

void SlotTable::expect_rows(std::uint32_t slots) const {
  if (pages_) pages_->want(std::size_t{slots} * row_bytes_);
}

void SlotTable::keep_first(std::uint32_t kept) {
  const bool all = kept >= slots_;
  const std::uint64_t bytes = device_ && !all ? 0 : bytes_of(kept, row_bytes_);
  if (all || bytes >= held_) return;
  pages_.reset();
  if (bytes != 0 && ::madvise(data_.data() + bytes, held_ - bytes, MADV_DONTNEED) == 0) {
    if (ledger_ != nullptr) charge_.resize(bytes).or_throw();
    held_ = bytes;
    return;
  }
  data_ = {};
  charge_.release();
  held_ = 0;
}

}  // namespace sluice
