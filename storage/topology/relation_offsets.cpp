#include "storage/topology/relation_offsets.h"

#include "storage/format/appended_edges.h"
#include "storage/format/data_file_reader.h"
#include "storage/topology/topology_errors.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

std::uint64_t target_of_row(const MergedOrder& order,
                            const MergedOrder::Source& source,
                            std::size_t k) {
  return appended_edge(source.log, order.row(k)).target;
}

// Calls list(target, end) for each list of the merged ones, target by target: those that are listed
// and those of the log.
template <class OnList>
void for_merged_lists(const MergedOrder& order,
                      const MergedOrder::Source& source,
                      const OnList& on_list) {
  const ListedNodes& listed = source.listed;
  std::size_t list = 0, row = 0;
  while (list < listed.size() || row < order.size()) {
    const bool stored =
        row == order.size() ||
        (list < listed.size() && listed.node(list) <= target_of_row(order, source, row));
    const std::uint64_t target = stored ? listed.node(list) : target_of_row(order, source, row);
    while (row < order.size() && target_of_row(order, source, row) == target) ++row;
    if (stored) ++list;
    on_list(target, source.offsets[list] + row);
  }
}

template <class Id>
void write_lists(const MergedOrder& order,
                 const MergedOrder::Source& source,
                 std::span<Id> nodes,
                 std::span<std::uint64_t> offsets) {
  std::size_t at = 0;
  offsets[0] = 0;
  for_merged_lists(order, source, [&](std::uint64_t target, std::uint64_t end) {
    nodes[at++] = static_cast<Id>(target);
    offsets[at] = end;
  });
}

}  // namespace

Result<RelationOffsets> RelationOffsets::load(const std::filesystem::path& root,
                                              const Manifest& manifest,
                                              const RelationSchema& relation,
                                              const DatasetOptions& options,
                                              std::optional<IoChoice> ahead) {
  const RelationLists lists = RelationLists::of(manifest.schema, relation, ListsOf::kTargets);
  auto offsets = load_array(root,
                            manifest,
                            lists.offsets,
                            DType::kU64,
                            {static_cast<std::int64_t>(lists.lists) + 1},
                            options,
                            "topology",
                            ahead);
  if (!offsets) return std::move(offsets).error();
  RelationOffsets loaded;
  loaded.offsets = std::move(offsets).value();
  const auto values = loaded.values();
  const bool sound =
      values.front() == 0 && values.back() == relation.edges && std::ranges::is_sorted(values);
  if (!sound) return offsets_error(root / lists.offsets, relation.edges);
  auto listed = NodeList::load(root, manifest, lists, options, ahead);
  if (!listed) return std::move(listed).error();
  loaded.listed = std::move(listed).value();
  return loaded;
}

Result<RelationOffsets> RelationOffsets::merged(const MergedOrder& order,
                                                const MergedOrder::Source& source,
                                                MemoryLedger* ledger) const {
  const auto make = [&](DType dtype, std::size_t count) {
    return Array::make(dtype, {static_cast<std::int64_t>(count)}, ledger, "topology");
  };
  RelationOffsets all;
  if (!listed.in_use()) {
    auto made = make(DType::kU64, source.offsets.size());
    if (!made) return std::move(made).error();
    all.offsets = std::move(made).value();
    order.merge_offsets(source, all.offsets.as<std::uint64_t>());
    return all;
  }
  std::size_t lists = 0;
  for_merged_lists(order, source, [&](std::uint64_t, std::uint64_t) { ++lists; });
  auto made = make(DType::kU64, lists + 1);
  if (!made) return std::move(made).error();
  all.offsets = std::move(made).value();
  const DType width = node_id_dtype(listed.num_nodes());
  auto nodes = make(width, lists);
  if (!nodes) return std::move(nodes).error();
  const auto offsets_out = all.offsets.as<std::uint64_t>();
  if (width == DType::kU32) {
    write_lists(order, source, nodes.value().as<std::uint32_t>(), offsets_out);
  } else {
    write_lists(order, source, nodes.value().as<std::uint64_t>(), offsets_out);
  }
  auto index = NodeList::make(std::move(nodes).value(), listed.num_nodes(), {}, ledger);
  if (!index) return std::move(index).error();
  all.listed = std::move(index).value();
  return all;
}

}  // namespace sluice
