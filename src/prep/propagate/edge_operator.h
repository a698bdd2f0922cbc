// EdgeOperator: a relation as a matrix of rows by its lists: that of the targets' in-edges, or that
// of the sources' out-edges, which is its transpose. And the metapaths that operators make up.
#pragma once

#include "storage/format/relation_lists.h"

#include <sluice/graph_schema.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

enum class Along {
  kEdges,     ///< a row a target, of its sources: the CSC files
  kBackwards  ///< a row a source, of its targets: the CSR files
};

struct EdgeOperator {
  std::size_t relation = 0;  ///< its place in GraphSchema::relations
  Along along = Along::kEdges;
  std::size_t from = 0;  ///< places in GraphSchema::nodes: of the rows that are read,
  std::size_t to = 0;    ///< and of those that are written

  friend bool operator==(const EdgeOperator&, const EdgeOperator&) = default;
};

/// An operator's lists: those of the nodes of type `to`, whose neighbours are of type `from`.
RelationLists lists_of(const GraphSchema& schema, const EdgeOperator& op);

/// Bytes of an operator's lists on disk: what a pass over them reads, but for padding.
std::uint64_t list_bytes(const GraphSchema& schema, const EdgeOperator& op);

/// Every relation along its edges and, where they are wanted, backwards where it has out-edges.
enum class Ways { kAlong, kBoth };
std::vector<EdgeOperator> operators_of(const GraphSchema& schema, Ways directions);

/// The operator that goes back: by the relation's out-edges; else the only relation that goes the
/// other way between the two types, if `op`'s is the only one that goes this way; within a type
/// itself, where its relation has no out-edges (as undirected ones have none). Throws Error: kUsage
/// where there is none.
EdgeOperator reverse_of(const GraphSchema& schema, const EdgeOperator& op);

/// What tells an operator from all others that end in the same type: the type that it comes from,
/// and where several come from there the relation too.
std::string step_name(const GraphSchema& schema,
                      const std::vector<EdgeOperator>& operators,
                      const EdgeOperator& op);

}  // namespace sluice
