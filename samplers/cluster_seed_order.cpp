#include "samplers/cluster_seed_order.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

namespace sluice {
namespace {

void check(const Clusters& clusters,
           const GraphSchema& schema,
           std::size_t type,
           std::span<const std::uint64_t> ids,
           std::uint64_t per_batch) {
  if (per_batch == 0) {
    throw Error(
        ErrorCode::kUsage, "0 clusters a mini-batch give no batches", "set it to 1 or more");
  }
  const NodeTypeSchema& of = schema.nodes.at(type);
  if (!clusters.covers(type)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the nodes of type '{}' are in no cluster", of.name),
                "give clusters of that type, or seeds of another");
  }
  for (const std::uint64_t id : ids) {
    if (id < of.count) continue;
    throw Error(
        ErrorCode::kData,
        fmt::format("seed {} is no node: type '{}' has {}", id, of.name, format_count(of.count)));
  }
}

}  // namespace

ClusterSeedOrder::ClusterSeedOrder(const Clusters& clusters,
                                   const GraphSchema& schema,
                                   std::size_t type,
                                   std::span<const std::uint64_t> ids,
                                   std::uint64_t per_batch,
                                   Shuffle shuffle,
                                   RandomKey key,
                                   MemoryLedger* ledger)
    : per_batch_(per_batch), shuffle_(shuffle), key_(key) {
  check(clusters, schema, type, ids, per_batch);
  const auto make = [ledger](std::uint64_t count) {
    return Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, ledger, "clusters")
        .or_throw();
  };
  ids_ = make(ids.size());
  firsts_ = make(clusters.num_clusters() + 1);
  const auto ends = firsts_.as<std::uint64_t>();
  std::fill(ends.begin(), ends.end(), 0);
  for (const std::uint64_t id : ids) ++ends[clusters.cluster_of(type, id)];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  const auto out = ids_.as<std::uint64_t>();
  for (std::size_t i = ids.size(); i-- > 0;)
    out[--ends[clusters.cluster_of(type, ids[i])]] = ids[i];
  // Each end is its cluster's begin now; those of empty clusters are repeated by the next.
  num_used_ = static_cast<std::uint64_t>(std::unique(ends.begin(), ends.end()) - ends.begin() - 1);
}

std::uint64_t ClusterSeedOrder::num_batches() const {
  return num_used_ / per_batch_ + (num_used_ % per_batch_ == 0 ? 0 : 1);
}

std::vector<std::uint64_t> ClusterSeedOrder::batch(std::uint64_t epoch, std::uint64_t index) const {
  assert(index < num_batches());
  const auto ids = ids_.as<std::uint64_t>();
  const auto firsts = firsts_.as<std::uint64_t>();
  const Permutation order(num_used_, key_.with(epoch));
  const std::uint64_t first = index * per_batch_;
  const std::uint64_t count = std::min(per_batch_, num_used_ - first);
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const std::uint64_t cluster = shuffle_ == Shuffle::kOff ? i : order.at(i);
    const auto of_cluster = ids.subspan(firsts[cluster], firsts[cluster + 1] - firsts[cluster]);
    seeds.insert(seeds.end(), of_cluster.begin(), of_cluster.end());
  }
  return seeds;
}

}  // namespace sluice
