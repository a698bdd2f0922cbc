// RangeStore: the edge records of each target range, in input order: in memory as long as they fit,
// the rest in a spill file.
//
// One thread adds and reads; between reserve() and the end of a round many threads may write to the
// places that reserve() made.
#pragma once

#include "prep/convert/edge_record.h"
#include "prep/convert/segment_pool.h"
#include "prep/convert/spill_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

struct RangeStoreOptions {
  std::uint64_t num_ranges = 0;
  EdgeRecord record;
  std::uint64_t segment_bytes = 64 << 10;  ///< a power of two, whole pages
  std::uint64_t memory_bytes = 0;          ///< for segments
  std::filesystem::path spill_folder;
};

/// Records that follow each other in memory, in input order.
struct RecordRun {
  const std::byte* data = nullptr;
  std::uint64_t count = 0;
};

class RangeStore {
 public:
  RangeStore(const RangeStoreOptions& options, MemoryLedger* ledger);

  const EdgeRecord& record() const noexcept { return options_.record; }
  std::uint64_t num_ranges() const noexcept { return options_.num_ranges; }
  std::uint64_t count(std::uint64_t range) const { return ranges_[range].count; }
  std::uint64_t total() const noexcept { return total_; }

  /// Makes room for `more[r]` records at the end of each range; what memory has no room for is
  /// spilled. kResource where the ledger has room for too few segments to go on.
  void reserve(std::span<const std::uint64_t> more);

  /// Where record `index` of `range` lies or is to lie, and how many from there on follow it.
  /// @pre not spilled: one that reserve() has just made room for
  std::byte* place(std::uint64_t range, std::uint64_t index, std::uint64_t& follow) const;

  /// The records that reserve() made room for are there.
  void commit(std::span<const std::uint64_t> more);

  /// All records are there: from now on memory goes back to the ledger as release() frees it.
  void finish();

  std::uint64_t spilled_bytes() const noexcept;
  /// Of one range, on disk: what load() needs room for.
  std::uint64_t spilled_bytes(std::uint64_t range) const;
  std::uint64_t spilled_segments(std::uint64_t range) const { return ranges_[range].slots.size(); }

  /// Reads the spilled segments of [first, last) into `to`, range by range. @pre finished
  void load(std::uint64_t first, std::uint64_t last, const std::shared_ptr<AlignedBuffer>& to);
  /// Reads some of a range's spilled segments.
  void load_segments(std::uint64_t range,
                     std::uint64_t first,
                     std::uint64_t count,
                     const std::shared_ptr<AlignedBuffer>& to);

  /// Appends the runs of `range` in input order; `loaded` is where its spilled segments were
  /// loaded.
  void runs(std::uint64_t range, const std::byte* loaded, std::vector<RecordRun>& out) const;
  /// The runs of `segments` loaded segments. Spilled segments are always full.
  void loaded_runs(const std::byte* loaded,
                   std::uint64_t segments,
                   std::vector<RecordRun>& out) const;

  /// The runs that are in memory: those after the spilled ones.
  void memory_runs(std::uint64_t range, std::vector<RecordRun>& out) const;

  /// Frees the memory of a range that has been read.
  void release(std::uint64_t range);

 private:
  struct Range {
    std::uint64_t count = 0;
    std::vector<std::uint64_t> slots;  // spilled: the first segments
    std::vector<std::byte*> segments;  // in memory: the ones after those
  };
  void spill_full();
  Error no_room() const;
  std::byte* take();

  RangeStoreOptions options_;
  MemoryLedger* ledger_;
  std::uint64_t capacity_;  // records a segment
  SegmentPool pool_;
  std::unique_ptr<SpillFile> spill_;
  std::vector<Range> ranges_;
  Charge charge_;
  std::uint64_t total_ = 0;
};

}  // namespace sluice
