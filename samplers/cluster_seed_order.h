// ClusterSeedOrder: mini-batches of whole clusters' seeds, any of them found directly (Cluster-GCN:
// Chiang et al. 2019, with q clusters a batch).
//
// As SeedOrder, but clusters are what is permuted, by (key, epoch): a mini-batch has all the seeds
// of its clusters. Clusters without seeds are left out. Thread-safe.
#pragma once

#include "samplers/clusters.h"

#include <sluice/array.h>
#include <sluice/random.h>
#include <sluice/samplers/seed_order.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

class ClusterSeedOrder final : public BatchOrder {
 public:
  /// @param ids distinct nodes of `type`; a copy of them, by cluster, is charged as "clusters".
  /// @param per_batch clusters a mini-batch. Throws kUsage for 0 of them or a type that is in no
  /// cluster, kData for an id that is no node, kResource.
  ClusterSeedOrder(const Clusters& clusters,
                   const GraphSchema& schema,
                   std::size_t type,
                   std::span<const std::uint64_t> ids,
                   std::uint64_t per_batch,
                   Shuffle shuffle,
                   RandomKey key,
                   MemoryLedger* ledger);

  /// Mini-batches an epoch; the last may have fewer clusters.
  std::uint64_t num_batches() const override;

  /// The seeds of a mini-batch: over an epoch, each id once; a cluster's in the order of `ids`.
  /// @pre index < num_batches()
  std::vector<std::uint64_t> batch(std::uint64_t epoch, std::uint64_t index) const override;

 private:
  Array ids_;                   // u64, by cluster
  Array firsts_;                // u64: each used cluster's first in ids_, then the end
  std::uint64_t num_used_ = 0;  // clusters that have seeds
  std::uint64_t per_batch_;
  Shuffle shuffle_;
  RandomKey key_;
};

}  // namespace sluice
