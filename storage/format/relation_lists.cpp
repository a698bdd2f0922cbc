#include "storage/format/relation_lists.h"

#include "storage/format/layout.h"

namespace sluice {
namespace {

// Below, a second file with its checksums takes as many blocks of a file system as it saves.
constexpr std::uint64_t kLeastOffsetBytes = 64 * 1024;

constexpr std::uint64_t kListsAnEntry = 4;

std::uint64_t bytes_of_every_node(std::uint64_t nodes) {
  return (nodes + 1) * sizeof(std::uint64_t);
}

std::uint64_t bytes_of_listed(std::uint64_t nodes, std::uint64_t lists) {
  return (lists + 1) * sizeof(std::uint64_t) + lists * size_of(node_id_dtype(nodes));
}

}  // namespace

OffsetLayout choose_offset_layout(std::uint64_t nodes, std::uint64_t most_lists) {
  const std::uint64_t every = bytes_of_every_node(nodes);
  if (every < kLeastOffsetBytes || most_lists >= nodes) return OffsetLayout::kEveryNode;
  return bytes_of_listed(nodes, most_lists) < every ? OffsetLayout::kListedNodes
                                                    : OffsetLayout::kEveryNode;
}

RelationLists RelationLists::of(const GraphSchema& schema,
                                const RelationSchema& relation,
                                ListsOf side) {
  const bool in_edges = side == ListsOf::kTargets;
  const std::string prefix = in_edges ? "" : "out_";
  const auto& listed = in_edges ? relation.listed_targets : relation.listed_sources;
  RelationLists lists;
  lists.offsets = relation_path(relation, prefix + "offsets.bin");
  lists.listed = relation_path(relation, prefix + "listed.bin");
  lists.neighbours = relation_path(relation, prefix + "neighbours.bin");
  lists.nodes = schema.node_type(in_edges ? relation.target : relation.source)->count;
  lists.neighbour_nodes = schema.node_type(in_edges ? relation.source : relation.target)->count;
  lists.lists = listed.value_or(lists.nodes);
  lists.edges = relation.edges;
  lists.layout = listed ? OffsetLayout::kListedNodes : OffsetLayout::kEveryNode;
  return lists;
}

std::uint64_t RelationLists::offset_bytes() const {
  return are_listed() ? bytes_of_listed(nodes, lists) : bytes_of_every_node(nodes);
}

std::uint64_t RelationLists::resident_bytes() const {
  if (!are_listed()) return offset_bytes();
  return offset_bytes() +
         directory_size(nodes, directory_shift(nodes, lists)) * sizeof(std::uint64_t);
}

unsigned directory_shift(std::uint64_t nodes, std::uint64_t lists) {
  const std::uint64_t last = nodes == 0 ? 0 : nodes - 1;
  unsigned shift = 0;
  while (shift < 63 && last >> shift > lists / kListsAnEntry) ++shift;
  return shift;
}

std::uint64_t directory_size(std::uint64_t nodes, unsigned shift) {
  return ((nodes == 0 ? 0 : nodes - 1) >> shift) + 2;
}

}  // namespace sluice
