// PackingBuffers: the memory of copying rows out of a table into runs: what the table is read into,
// and chunks of the runs on their way to the disk.
//
// They may be made while what is to be packed is still being found out: large ones get their pages
// on threads of their own meanwhile.
#pragma once

#include "core/pages_ahead.h"
#include "storage/format/layout.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/memory.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace sluice {

class PackingBuffers {
 public:
  /// The least bytes that so many runs need, and what is enough for good speed.
  static std::uint64_t least_bytes(std::size_t runs, const FeatureLayout& layout);
  static std::uint64_t good_bytes(std::size_t runs, const FeatureLayout& layout);
  /// Of `bytes` that rows may have too, what buffers should take: good_bytes(), and for a large
  /// table as much as a disk can use.
  static std::uint64_t share_of(std::uint64_t bytes, std::size_t runs, const FeatureLayout& layout);

  /// At most `bytes` in all. Throws kResource where those are too few or the ledger has no room
  /// ("packing buffers").
  PackingBuffers(std::size_t runs,
                 const FeatureLayout& layout,
                 std::uint64_t bytes,
                 MemoryLedger* ledger);

  static constexpr std::size_t kIdsAhead = 128;  ///< of each run, in memory

  std::size_t runs() const { return runs_; }
  const std::shared_ptr<AlignedBuffer>& scan() const { return scan_; }
  /// Ends the use of scan(): its first `bytes`, charged as "feature staging", or null where it has
  /// not as many.
  std::shared_ptr<AlignedBuffer> give_scan(std::uint64_t bytes);
  /// Of one read of the scan: some of them fit its buffer.
  std::uint64_t request_bytes() const { return request_; }
  AlignedBuffer& chunks() { return chunks_; }
  std::uint64_t chunk_bytes() const { return chunk_; }

 private:
  std::size_t runs_;
  Charge cursors_;
  std::uint64_t request_ = 0;
  std::uint64_t chunk_ = 0;
  std::shared_ptr<AlignedBuffer> scan_;
  AlignedBuffer chunks_;
  std::optional<PagesAhead> scan_pages_;  // after what they make pages of
  std::optional<PagesAhead> chunk_pages_;
};

}  // namespace sluice
