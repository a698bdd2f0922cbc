#include "samplers/clusters.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

Error no_clusters() {
  return Error(
      ErrorCode::kUsage, "no clusters make no mini-batches", "set [sampler] clusters to 1 or more");
}

template <class Id>
void scatter(std::span<const std::uint32_t> parts,
             std::span<std::uint64_t> ends,
             std::span<Id> members) {
  // From the last node back, each cluster's end moves down to its begin.
  for (std::size_t node = parts.size(); node-- > 0;)
    members[static_cast<std::size_t>(--ends[parts[node]])] = static_cast<Id>(node);
}

}  // namespace

Clusters::Clusters(const GraphSchema& schema, std::uint64_t num_clusters)
    : num_clusters_(num_clusters), types_(schema.nodes.size()) {
  if (num_clusters == 0) throw no_clusters();
  for (std::size_t type = 0; type < types_.size(); ++type)
    types_[type].count = schema.nodes[type].count;
}

Clusters Clusters::even(const GraphSchema& schema, std::uint64_t count) {
  Clusters clusters(schema, count);
  for (OfType& of : clusters.types_) of.given = Given::kEven;
  return clusters;
}

Clusters Clusters::from_ranges(const GraphSchema& schema,
                               const std::vector<std::vector<std::uint64_t>>& bounds,
                               MemoryLedger* ledger) {
  std::size_t most = 0;
  for (const auto& of_type : bounds) most = std::max(most, of_type.size());
  Clusters clusters(schema, most == 0 ? 0 : most - 1);
  for (std::size_t type = 0; type < bounds.size(); ++type) {
    const auto& ends = bounds[type];
    if (ends.empty() && type < schema.nodes.size()) continue;
    if (type >= schema.nodes.size() || ends.size() != most || ends.front() != 0 ||
        !std::is_sorted(ends.begin(), ends.end()) || ends.back() != schema.nodes[type].count) {
      throw Error(ErrorCode::kData,
                  fmt::format("the clusters of node type {} are not {} ranges of all its ids",
                              type,
                              format_count(clusters.num_clusters_)),
                  "bounds ascend from 0 to the type's count, as many for each type");
    }
    OfType& of = clusters.types_[type];
    of.given = Given::kRanges;
    of.bounds =
        Array::make(DType::kU64, {static_cast<std::int64_t>(most)}, ledger, "clusters").or_throw();
    std::copy(ends.begin(), ends.end(), of.bounds.as<std::uint64_t>().begin());
  }
  return clusters;
}

Clusters Clusters::from_parts(const GraphSchema& schema,
                              std::vector<Array> parts,
                              std::uint64_t num_clusters,
                              MemoryLedger* ledger) {
  Clusters clusters(schema, num_clusters);
  for (std::size_t type = 0; type < parts.size(); ++type) {
    if (parts[type].empty() && type < schema.nodes.size()) continue;
    if (type >= schema.nodes.size() || parts[type].dtype() != DType::kU32 ||
        static_cast<std::uint64_t>(parts[type].numel()) != schema.nodes[type].count) {
      throw Error(ErrorCode::kData,
                  fmt::format("the parts of node type {} are not one u32 a node", type));
    }
    OfType& of = clusters.types_[type];
    of.given = Given::kParts;
    of.parts = std::move(parts[type]);
    clusters.list_members(of, schema.nodes[type], ledger).or_throw();
  }
  return clusters;
}

Result<void> Clusters::list_members(OfType& of,
                                    const NodeTypeSchema& type,
                                    MemoryLedger* ledger) const {
  const auto parts = std::as_const(of.parts).as<std::uint32_t>();
  auto bounds =
      Array::make(DType::kU64, {static_cast<std::int64_t>(num_clusters_) + 1}, ledger, "clusters");
  if (!bounds) return std::move(bounds).error();
  auto members = Array::make(node_id_dtype(of.count), of.parts.shape(), ledger, "clusters");
  if (!members) return std::move(members).error();
  of.bounds = std::move(bounds).value();
  of.members = std::move(members).value();
  const auto ends = of.bounds.as<std::uint64_t>();
  std::fill(ends.begin(), ends.end(), 0);
  for (std::size_t node = 0; node < parts.size(); ++node) {
    if (parts[node] >= num_clusters_) {
      return Error(ErrorCode::kData,
                   fmt::format("node {} of type '{}' is in part {}; there are {} clusters",
                               node,
                               type.name,
                               parts[node],
                               format_count(num_clusters_)));
    }
    ++ends[parts[node]];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  if (of.members.dtype() == DType::kU32) {
    scatter(parts, ends, of.members.as<std::uint32_t>());
  } else {
    scatter(parts, ends, of.members.as<std::uint64_t>());
  }
  return {};
}

bool Clusters::covers(std::size_t type) const {
  return types_[type].given != Given::kNot || types_[type].count == 0;
}

std::uint64_t Clusters::bound(const OfType& of, std::uint64_t cluster) const {
  if (of.given == Given::kNot) return 0;
  if (of.given != Given::kEven) return of.bounds.as<std::uint64_t>()[cluster];
  const auto product = static_cast<unsigned __int128>(cluster) * of.count;
  return static_cast<std::uint64_t>(product / num_clusters_);
}

std::uint64_t Clusters::cluster_of(std::size_t type, std::uint64_t node) const {
  const OfType& of = types_[type];
  if (of.given == Given::kParts) return of.parts.as<std::uint32_t>()[node];
  if (of.given == Given::kRanges) {
    const auto bounds = of.bounds.as<std::uint64_t>();
    const auto above = std::upper_bound(bounds.begin(), bounds.end(), node);
    return static_cast<std::uint64_t>(above - bounds.begin()) - 1;
  }
  // The greatest c with c * count / num_clusters, rounded down, at most node.
  const auto product = static_cast<unsigned __int128>(node + 1) * num_clusters_ - 1;
  return static_cast<std::uint64_t>(product / of.count);
}

std::uint64_t Clusters::size(std::size_t type, std::uint64_t cluster) const {
  return bound(types_[type], cluster + 1) - bound(types_[type], cluster);
}

std::uint64_t Clusters::member(std::size_t type, std::uint64_t cluster, std::uint64_t i) const {
  const OfType& of = types_[type];
  const std::uint64_t place = bound(of, cluster) + i;
  if (of.given != Given::kParts) return place;
  return of.members.dtype() == DType::kU32 ? of.members.as<std::uint32_t>()[place]
                                           : of.members.as<std::uint64_t>()[place];
}

}  // namespace sluice
