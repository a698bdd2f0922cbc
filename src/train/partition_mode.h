// PartitionMode: training by partitions of the learned rows instead of by whole mini-batches: the
// links of the train part in edge buckets, the order that an epoch goes through them, and the rows
// that are in memory meanwhile.
//
// Approximate: links come bucket by bucket, and the nodes beside them, and neighbours where a model
// reads these, are drawn from partitions that are resident. All node types with learned rows are
// divided alike: partition n is there of all of them or of none. Rows that are all in memory take
// the same steps in the same order. Used by one thread, but for what queries and samplers ask.
#pragma once

#include "samplers/bucket_links.h"
#include "samplers/bucket_tour.h"
#include "train/options.h"

#include <sluice/sampler.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace sluice {

struct Parts;

/// Partitions that have memory at once, a spare one among them.
std::uint32_t partition_slots(const EmbeddingSection& rows);

/// How often an epoch loads a partition, by its order alone: known before links are sorted.
std::uint64_t partition_loads(const Parts& parts);

/// Throws kUsage where a run cannot be trained by partitions: a task that is not about links, a
/// loss that wants all rows, ends without learned rows, a sampler of neighbours that cannot draw
/// among resident nodes, a dataset that is followed.
void check_partition_mode(const Parts& parts);

/// The run's sampler, drawing among nodes of the partitions that are resident; among all until
/// links are sorted, which takes as much memory or more: for a run to be measured by.
std::shared_ptr<const SamplerMethod> in_buffer_sampler(const Parts& parts);

class PartitionMode {
 public:
  /// Sorts the training links; the file is in `folder` and goes with this. Throws Error.
  PartitionMode(const Parts& parts, const std::filesystem::path& folder);

  std::shared_ptr<const Links> links() const { return links_; }
  std::shared_ptr<const LinkOrder> order() const { return tour_; }
  std::shared_ptr<const BucketTour> tour() const { return tour_; }
  /// "beta", ...: of `auto` the one that was chosen.
  std::string order_name() const;
  /// "16 partitions, 4 trained together, order beta (42 swaps an epoch), ..."
  std::string told() const;

  /// Has the partitions of a mini-batch in memory, or on their way; others are written behind.
  void go_to(std::uint64_t epoch, std::uint64_t index, const Parts& parts);
  /// Since this was asked last.
  std::uint64_t take_swaps();

 private:
  std::shared_ptr<const BucketLinks> links_;
  std::shared_ptr<const BucketTour> tour_;
  std::optional<std::uint64_t> epoch_;  // whose first partitions were loaded
  std::uint64_t swaps_ = 0;
};

}  // namespace sluice
