// BucketLinks: links sorted into edge buckets, by (partition of the source, partition of the
// destination), in a scratch file without a name: bucket by bucket, numbered as they lie. A bucket
// is in pieces of kPieceLinks at most (samplers/bucket_tour.h), to each of which its links went at
// random; a piece is read whole, and the last few are kept.
//
// Sorted once, in two passes over the links. Everything read is verified by page. Thread-safe.
#pragma once

#include "samplers/bucket_tour.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <sluice/array.h>
#include <sluice/memory.h>
#include <sluice/mutex.h>
#include <sluice/samplers/links.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace sluice {

struct BucketLinksOptions {
  std::uint32_t partitions = 1;
  NodeDivision sources, destinations;
  RandomKey key{1};              ///< of the run's seed
  std::filesystem::path folder;  ///< where the file is
  std::uint64_t piece_links = kPieceLinks;
  MemoryLedger* ledger = nullptr;  ///< charged as "edge buckets"; outlives the links
};

class BucketLinks final : public Links {
 public:
  /// Sorts links that have no times and are no examples of none. Beside memory_bytes() that takes
  /// some of what the ledger has left, while it lasts. Throws Error: kUsage, kResource, kIo, and
  /// what the links fail with.
  BucketLinks(const Links& links, const BucketLinksOptions& options);
  BucketLinks(const BucketLinks&) = delete;
  BucketLinks& operator=(const BucketLinks&) = delete;

  /// What so many links take of memory at the most.
  static std::uint64_t memory_bytes(std::uint64_t links, std::uint32_t partitions);
  /// What they take of the disk at the most.
  static std::uint64_t disk_bytes(std::uint64_t links, std::uint32_t partitions);

  std::uint64_t size() const override { return begins_.back(); }
  bool have_ids() const override { return have_ids_; }
  Result<void> find(std::span<const std::uint64_t> numbers, const Ends& out) const override;

  /// Links of each bucket: source * partitions + destination.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  std::uint64_t file_bytes() const { return offsets_.back(); }
  std::uint64_t bytes_read() const;

 private:
  struct Record {
    std::uint64_t source, target, id;
  };
  // A piece in memory.
  struct Held {
    AlignedBuffer buffer;
    std::size_t piece;
    std::uint64_t used = 0;  // when it was asked for last
  };

  std::size_t bucket_of(const Record& record) const;
  template <class Take>
  void for_each(const Links& links, const Take& take) const;
  void count(const Links& links);
  void lay_out();
  void distribute(const Links& links);
  Result<const Record*> hold(std::size_t piece) const SLUICE_REQUIRES(mutex_);
  Result<void> read(std::size_t piece, Held& held) const;

  BucketLinksOptions options_;
  bool have_ids_;
  std::vector<std::uint64_t> counts_;      // by bucket
  std::vector<std::size_t> first_pieces_;  // by bucket
  std::vector<std::uint64_t> begins_;      // by piece: its first number; and their sum
  std::vector<std::uint64_t> offsets_;     // by piece: where it lies, whole pages; and the end
  Charge lists_;                           // of these
  Array sums_;                             // u32, by page
  File file_;
  mutable Mutex mutex_;
  mutable std::vector<Held> held_ SLUICE_GUARDED_BY(mutex_);
  mutable std::uint64_t asked_ SLUICE_GUARDED_BY(mutex_) = 0;
  mutable std::uint64_t bytes_read_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
