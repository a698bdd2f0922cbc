// EdgeIdBuckets: ids of edges parted by ranges of ids, the buckets, on the disk: a bucket's ids
// come back in the order in which they were taken. So what is kept by edge id is looked up a bucket
// at a time where memory has no room for all of it.
//
// One thread. Throws Error (kResource for a full disk).
#pragma once

#include "storage/format/value_cursor.h"
#include "storage/io/scratch_list.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace sluice {

/// How a column of values by edge id goes through buckets.
struct IdBucketPlan {
  /// Edges that go from one piece of memory to the next at a time.
  static constexpr std::uint64_t kSome = std::uint64_t{1} << 15;

  unsigned shift = 0;         ///< an id's bucket is id >> shift; at most 32
  std::uint64_t buckets = 1;  ///< the values of each fit in memory
  std::uint64_t run = 1;      ///< edges that are parted in memory at a time
  std::uint64_t at_once = 1;  ///< values of each bucket that are in memory while they are merged
  std::uint64_t bytes = 0;    ///< of memory for all of it

  /// @param width bytes of a value: 4 or 8
  /// @param memory_bytes to be used; where these are too few for so many edges, `bytes` is more
  static IdBucketPlan make(std::uint64_t edges,
                           std::uint64_t values,
                           std::size_t width,
                           std::uint64_t memory_bytes);
};

class EdgeIdBuckets {
 public:
  /// Takes so many ids. @param folder where the file without a name is made
  EdgeIdBuckets(const IdBucketPlan& plan,
                ValueCursor& ids,
                std::uint64_t edges,
                const std::filesystem::path& folder);

  std::uint64_t count(std::uint64_t bucket) const;
  /// Gives the ids of a bucket, less its first one, in the order in which they were taken, no more
  /// than IdBucketPlan::kSome at a time.
  void visit(std::uint64_t bucket, const std::function<void(std::span<const std::uint32_t>)>& use);

  /// Of the file.
  std::uint64_t bytes_read() const { return list_.bytes_read(); }
  std::uint64_t bytes_written() const { return list_.bytes_written(); }

 private:
  struct Piece {
    std::uint64_t first, last;  // in the list
  };
  void take(ValueCursor& ids, std::uint64_t edges);
  std::uint64_t runs() const { return ends_.size() / plan_.buckets; }
  Piece piece(std::uint64_t run, std::uint64_t bucket) const;

  IdBucketPlan plan_;
  ScratchList list_;                 // run after run, each bucket after bucket
  std::vector<std::uint32_t> ends_;  // of the buckets in each run
  std::vector<std::uint32_t> some_;
};

}  // namespace sluice
