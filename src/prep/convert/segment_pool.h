// SegmentPool: memory for edge records in segments of one size, from slabs of huge pages that are
// charged to the ledger as they are needed and given back when their last segment is.
//
// take() by one thread; give() by any.
#pragma once

#include "storage/io/aligned_buffer.h"

#include <sluice/memory.h>
#include <sluice/mutex.h>

#include <cstdint>
#include <map>
#include <vector>

namespace sluice {

class SegmentPool {
 public:
  /// @param segment_bytes a power of two, whole pages
  /// @param limit_bytes segments are taken up to this much, if the ledger has room
  SegmentPool(MemoryLedger* ledger, std::uint64_t segment_bytes, std::uint64_t limit_bytes);

  std::uint64_t segment_bytes() const noexcept { return segment_bytes_; }

  /// A segment, page-aligned, of undefined content; null when there is no room. Segments of one
  /// call after the other follow each other in memory while nothing was given back.
  std::byte* take();
  void give(std::byte* segment);

  /// Whether slabs that are free as a whole are unmapped (when the graph is read back) or kept
  /// (while it comes in).
  enum class Keep { kSlabs, kNothing };
  void set_keep(Keep keep);

 private:
  struct Slab {
    AlignedBuffer memory;
    std::uint64_t in_use = 0;
  };
  bool grow() SLUICE_REQUIRES(mutex_);

  MemoryLedger* ledger_;
  std::uint64_t segment_bytes_;
  std::uint64_t limit_bytes_;
  std::uint64_t slab_bytes_;
  Mutex mutex_;
  std::uint64_t taken_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;  // of all slabs
  Keep keep_ SLUICE_GUARDED_BY(mutex_) = Keep::kSlabs;
  std::map<const std::byte*, Slab> slabs_ SLUICE_GUARDED_BY(mutex_);  // by address
  std::vector<std::byte*> free_ SLUICE_GUARDED_BY(mutex_);            // the next one last
};

}  // namespace sluice
