#include "prep/convert/segment_pool.h"

#include <algorithm>
#include <iterator>

namespace sluice {
namespace {

constexpr std::uint64_t kSlabBytes = std::uint64_t{16} << 20;

}  // namespace

SegmentPool::SegmentPool(MemoryLedger* ledger,
                         std::uint64_t segment_bytes,
                         std::uint64_t limit_bytes)
    : ledger_(ledger),
      segment_bytes_(segment_bytes),
      limit_bytes_(limit_bytes),
      slab_bytes_(std::max(segment_bytes, std::min(kSlabBytes, limit_bytes / 8))) {
  slab_bytes_ = slab_bytes_ / segment_bytes_ * segment_bytes_;
}

bool SegmentPool::grow() {
  if (taken_bytes_ + slab_bytes_ > limit_bytes_) return false;
  auto memory = AlignedBuffer::make(slab_bytes_, ledger_, "edges");
  if (!memory) return false;
  std::byte* const begin = memory.value().data();
  for (std::uint64_t at = slab_bytes_; at != 0; at -= segment_bytes_)
    free_.push_back(begin + at - segment_bytes_);
  slabs_[begin] = {std::move(memory).value(), 0};
  taken_bytes_ += slab_bytes_;
  return true;
}

std::byte* SegmentPool::take() {
  const MutexLock lock(mutex_);
  if (free_.empty() && !grow()) return nullptr;
  std::byte* const segment = free_.back();
  free_.pop_back();
  ++std::prev(slabs_.upper_bound(segment))->second.in_use;
  return segment;
}

void SegmentPool::give(std::byte* segment) {
  const MutexLock lock(mutex_);
  const auto slab = std::prev(slabs_.upper_bound(segment));
  --slab->second.in_use;
  if (keep_ == Keep::kSlabs) return free_.push_back(segment);
  if (slab->second.in_use != 0) return;
  taken_bytes_ -= slab->second.memory.size();
  slabs_.erase(slab);
}

void SegmentPool::set_keep(Keep keep) {
  const MutexLock lock(mutex_);
  keep_ = keep;
  if (keep == Keep::kSlabs) return;
  free_.clear();
  for (auto slab = slabs_.begin(); slab != slabs_.end();) {
    const bool in_use = slab->second.in_use != 0;
    if (!in_use) taken_bytes_ -= slab->second.memory.size();
    slab = in_use ? std::next(slab) : slabs_.erase(slab);
  }
}

}  // namespace sluice
