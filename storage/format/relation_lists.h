// RelationLists: how the lists of one direction of a relation stand on disk: with an offset a node,
// or, of hypersparse relations, with those nodes listed that have edges, and offsets of these alone
// (doubly compressed columns: Buluc and Gilbert, "On the representation and multiplication of
// hypersparse matrices", IPDPS 2008). FORMAT.md, "Offsets".
#pragma once

#include <sluice/dtype.h>
#include <sluice/graph_schema.h>

#include <cstdint>
#include <string>

namespace sluice {

enum class ListsOf {
  kTargets,  ///< in-edges: the CSC files
  kSources   ///< out-edges: the CSR files
};

enum class OffsetLayout {
  kEveryNode,    ///< an offset a node, and one more
  kListedNodes,  ///< nodes that have edges, and an offset each, and one more
};

/// The layout of the lists of `nodes` nodes, at most `most_lists` of which have edges: that which
/// takes fewer bytes then. Few nodes always have an offset each: another file would save nothing.
OffsetLayout choose_offset_layout(std::uint64_t nodes, std::uint64_t most_lists);

struct RelationLists {
  std::string offsets;                ///< path below the dataset: u64 [lists + 1]
  std::string listed;                 ///< likewise, of the nodes: [lists] of `node_dtype()`
  std::string neighbours;             ///< likewise
  std::uint64_t nodes = 0;            ///< of the type whose nodes have the lists
  std::uint64_t neighbour_nodes = 0;  ///< of the other end's type
  std::uint64_t lists = 0;            ///< `nodes`, or how many are listed
  std::uint64_t edges = 0;
  OffsetLayout layout = OffsetLayout::kEveryNode;

  /// As `relation` says. @pre its types are of `schema`
  static RelationLists of(const GraphSchema& schema, const RelationSchema& relation, ListsOf side);

  bool are_listed() const { return layout == OffsetLayout::kListedNodes; }
  DType node_dtype() const { return node_id_dtype(nodes); }
  /// Of the offsets and the listed nodes: on disk, padding not counted.
  std::uint64_t offset_bytes() const;
  /// The same in memory, with what finds a listed node.
  std::uint64_t resident_bytes() const;
};

/// The directory that finds listed nodes has one entry for 2^shift nodes: some four lists each.
unsigned directory_shift(std::uint64_t nodes, std::uint64_t lists);
/// Its entries.
std::uint64_t directory_size(std::uint64_t nodes, unsigned shift);

}  // namespace sluice
