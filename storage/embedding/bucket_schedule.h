// What a bucket order would take: states that compute while partitions are read and written. To
// choose between BETA with a spare slot and Legend's order with that slot as one more.
#pragma once

#include "storage/embedding/bucket_order.h"

#include <functional>

namespace sluice {

struct BucketCosts {
  std::function<double(const Bucket&)> compute_seconds;  ///< of a bucket
  double read_seconds = 0;                               ///< of a partition
  double write_seconds = 0;
};

enum class SpareSlot {
  kNone,  ///< a partition is replaced once its buckets of the state are done, beside the others'
  kOne,   ///< the next partition is read and the last written beside all of a state's buckets
};

struct BucketTimes {
  double seconds = 0;          ///< of the epoch, from the first state's read to the last's write
  double compute_seconds = 0;  ///< of these, computing
};

/// max(compute, I/O) of each state; the disk reads and writes one thing after the other.
BucketTimes simulate(const BucketOrder& order, const BucketCosts& costs, SpareSlot spare);

struct BucketPlan {
  BucketOrderOptions options;  ///< whose slots are those that are trained in
  SpareSlot spare;
  BucketTimes times;
};

/// The faster, for one epoch, of BETA in all slots but a spare one, and Legend's order in all.
/// @pre slots >= 3
BucketPlan choose_bucket_order(std::uint32_t partitions,
                               std::uint32_t slots,
                               const BucketCosts& costs,
                               RandomKey key);

}  // namespace sluice
