// Clusters: which nodes belong together, for every node type, found once for a dataset.
//
// Given as ranges of ids (what a node order by cluster leaves behind), as a part for each node
// (what a partitioner returns), or cut evenly. A cluster may hold nodes of every type. Cheap to
// copy, read-only, thread-safe; arrays are charged as "clusters".
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/graph_schema.h>
#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

class Clusters {
 public:
  /// Each type's ids cut into `count` ranges of the same size, give or take one. Throws kUsage for
  /// no clusters.
  static Clusters even(const GraphSchema& schema, std::uint64_t count);

  /// @param bounds by type: ascending, from 0 to the type's count; cluster c has the ids
  /// [bounds[c], bounds[c + 1]). Empty: the type is in no cluster. Throws kData for bounds that are
  /// no ranges of the schema's types or of unlike number, kResource.
  static Clusters from_ranges(const GraphSchema& schema,
                              const std::vector<std::vector<std::uint64_t>>& bounds,
                              MemoryLedger* ledger);

  /// @param parts by type: u32 [count], each node's cluster; empty: the type is in no cluster. The
  /// arrays stay in use; a list of all nodes by cluster is charged beside them. Throws kData for
  /// arrays that do not fit the schema, or a part that is no cluster; kResource.
  static Clusters from_parts(const GraphSchema& schema,
                             std::vector<Array> parts,
                             std::uint64_t num_clusters,
                             MemoryLedger* ledger);

  std::uint64_t num_clusters() const { return num_clusters_; }
  /// Whether the type's nodes are in clusters, as those of a type without nodes are.
  bool covers(std::size_t type) const;

  // @pre covers(type), node below the type's count, cluster < num_clusters(), i < size()

  std::uint64_t cluster_of(std::size_t type, std::uint64_t node) const;
  std::uint64_t size(std::size_t type, std::uint64_t cluster) const;
  /// The i-th node of the type in the cluster, ascending.
  std::uint64_t member(std::size_t type, std::uint64_t cluster, std::uint64_t i) const;

 private:
  enum class Given { kNot, kEven, kRanges, kParts };
  struct OfType {
    Given given = Given::kNot;
    std::uint64_t count = 0;
    Array bounds;   // u64 [clusters + 1]: of ids (kRanges) or of places in members (kParts)
    Array parts;    // u32 [count]
    Array members;  // u32 or u64 [count], by cluster, ascending
  };

  Clusters(const GraphSchema& schema, std::uint64_t num_clusters);
  std::uint64_t bound(const OfType& of, std::uint64_t cluster) const;
  Result<void> list_members(OfType& of, const NodeTypeSchema& type, MemoryLedger* ledger) const;

  std::uint64_t num_clusters_;
  std::vector<OfType> types_;
};

}  // namespace sluice
