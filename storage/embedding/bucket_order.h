// Bucket orders: which partitions of a table are resident when, and which edge buckets are trained
// then. A bucket (i, j), the edges from partition i to partition j, needs both of them resident.
// For partition mode; pure functions of their arguments, so that a run knows an epoch's order
// ahead.
#pragma once

#include <sluice/random.h>

#include <cstdint>
#include <vector>

namespace sluice {

enum class BucketOrderKind {
  kSequential,  ///< as kBeta with partitions in their own order: every epoch is the same
  kBeta,        ///< all but one slot hold while the other partitions go through the last one
  kComet,       ///< kBeta over random groups of partitions; a bucket goes to any state that has it
  kLegend,      ///< the partition just loaded never goes: what stays is trained while others swap
};

struct BucketOrderOptions {
  BucketOrderKind kind = BucketOrderKind::kBeta;
  std::uint32_t partitions = 1;
  std::uint32_t slots = 2;  ///< partitions that are resident at a time, at least 2 (kLegend: 3)
  std::uint32_t group = 1;  ///< kComet: partitions that come and go together; divides both
};

struct Bucket {
  std::uint32_t source, target;
  friend bool operator==(const Bucket&, const Bucket&) = default;
};

struct BucketState {
  std::vector<std::uint32_t> resident;  ///< ascending
  std::vector<std::uint32_t> loaded;    ///< of these, by this state
  std::vector<std::uint32_t> evicted;   ///< of the state before, to make room for them
  /// Trained in this order. Those of partitions that the next state evicts come first, so that the
  /// others may be trained while these are written and replaced.
  std::vector<Bucket> buckets;
};

struct BucketOrder {
  std::vector<BucketState> states;

  /// Partitions loaded after the first state's.
  std::uint64_t swaps() const;
};

/// Every bucket of partitions x partitions is in one state, once, and both its partitions are
/// resident there; anything else throws kInternal. All partitions fit: one state.
/// @param key of the epoch. Throws kUsage for options that make no sense.
BucketOrder make_bucket_order(const BucketOrderOptions& options, RandomKey key);

/// The check that make_bucket_order ends with. Throws kInternal, naming the bucket.
void check_coverage(const BucketOrder& order, std::uint32_t partitions);

}  // namespace sluice
