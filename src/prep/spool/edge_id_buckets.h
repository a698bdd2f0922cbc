// EdgeIdBuckets: ids of edges parted by ranges of ids, the buckets, on the disk: a bucket's ids
// come back in the order in which they were taken. So what is kept by edge id is looked up a bucket
// at a time where memory has no room for all of it.
//
// For one thread; the data threads part a run. Throws Error (kResource for a full disk).
#pragma once

#include "storage/format/value_cursor.h"
#include "storage/io/scratch_pages.h"

#include <sluice/threads.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// How a column of values by edge id goes through buckets.
struct IdBucketPlan {
  unsigned shift = 0;         ///< an id's bucket is id >> shift; at most 32
  std::uint64_t buckets = 1;  ///< the values of each fit in memory
  std::uint64_t run = 1;      ///< edges that are parted, and whose values are merged, at a time
  std::uint64_t chunk = 1;    ///< most edges of a bucket whose values are looked up at a time
  std::uint64_t bytes = 0;    ///< of memory for all of it

  /// @param width bytes of a value: 4 or 8
  /// @param memory_bytes to be used; where these are too few for so many edges, `bytes` is more
  static IdBucketPlan make(std::uint64_t edges,
                           std::uint64_t values,
                           std::size_t width,
                           std::uint64_t memory_bytes);

  std::uint64_t runs(std::uint64_t edges) const { return (edges + run - 1) / run; }
  /// Of a buffer for the ids of a chunk, or the values of a run.
  std::uint64_t chunk_bytes() const;
  std::uint64_t run_bytes(std::size_t width) const;
};

class EdgeIdBuckets {
 public:
  /// Takes so many ids. @param folder where the file without a name is made
  EdgeIdBuckets(const IdBucketPlan& plan,
                ValueCursor& ids,
                std::uint64_t edges,
                const std::filesystem::path& folder,
                ThreadArena& arena);

  /// Ids of a bucket in a run.
  std::uint64_t count(std::uint64_t run, std::uint64_t bucket) const;
  std::uint64_t count(std::uint64_t bucket) const;
  std::uint64_t runs() const { return ends_.size() / plan_.buckets; }

  /// Gives the ids of a bucket, less its first one, in the order in which they were taken, as
  /// pieces that follow each other and have plan.chunk ids at most. They are read ahead.
  using Pieces = std::vector<std::span<const std::byte>>;  ///< of u32
  void visit(std::uint64_t bucket, const std::function<void(const Pieces&)>& use);
  /// Gives the memory of chunks back. Nothing is visited from then on.
  void end_visits();

  /// Of the file: what was asked for, and all of the pages around it.
  ScratchRead read() const { return read_; }
  std::uint64_t bytes_written() const { return file_.size(); }

 private:
  struct Place {
    std::uint64_t run, id;  // the next of a bucket
  };
  void take(ValueCursor& ids, std::uint64_t edges, ThreadArena& arena);
  void part(std::span<const std::uint64_t> run, ThreadArena& arena);
  std::uint64_t first_of(std::uint64_t run, std::uint64_t bucket) const;
  bool begin_chunk(std::uint64_t bucket, Place& place);

  IdBucketPlan plan_;
  ScratchPages file_;                // run after run, each bucket after bucket
  std::vector<std::uint32_t> ends_;  // of the buckets in each run
  std::vector<std::uint32_t> next_;  // while a run is parted: of each part and bucket
  std::vector<ScratchPieces::Piece> pieces_;
  std::optional<ScratchPieces> reader_;  // until end_visits()
  ScratchRead read_;
};

}  // namespace sluice
