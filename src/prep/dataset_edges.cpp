#include "prep/dataset_edges.h"

#include "core/interrupt.h"
#include "storage/format/data_file.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kChunkEdges = std::uint64_t{1} << 17;

FileEntry entry_of(const std::filesystem::path& root,
                   const Manifest& manifest,
                   const RelationSchema& relation,
                   const char* file) {
  return find_file(root, manifest, relation_path(relation, file)).or_throw();
}

}  // namespace

DatasetEdges::DatasetEdges(const std::filesystem::path& root,
                           const Manifest& manifest,
                           const RelationSchema& relation,
                           Renumbering renumbering,
                           MemoryLedger* ledger)
    : offsets_path_(root / relation_path(relation, "offsets.bin")),
      edges_(relation.edges),
      lists_(
          root, manifest, RelationLists::of(manifest.schema, relation, ListsOf::kTargets), ledger),
      neighbours_(root,
                  entry_of(root, manifest, relation, "neighbours.bin"),
                  node_id_dtype(manifest.schema.node_type(relation.source)->count),
                  relation.edges,
                  ledger),
      renumbering_(std::move(renumbering)) {
  if (relation.has_edge_ids) {
    id_bound_ = relation.edge_id_bound;
    ids_.emplace(root,
                 entry_of(root, manifest, relation, "edge_ids.bin"),
                 relation.edge_id_dtype(),
                 relation.edges,
                 ledger);
  }
  if (ledger != nullptr)
    charge_ = ledger->charge("edges", 3 * kChunkEdges * sizeof(std::uint64_t)).or_throw();
}

void DatasetEdges::next_list() {
  const auto list = lists_.next();
  if (!list) throw damaged_file(offsets_path_, "its lists hold fewer than all edges");
  list_ = *list;
}

std::optional<EdgeView> DatasetEdges::next() {
  throw_if_interrupted();
  const std::uint64_t count = std::min(kChunkEdges, edges_ - at_);
  if (count == 0) return std::nullopt;
  chunk_.resize(count);
  if (ids_) chunk_ids_.resize(count);
  for (std::uint64_t i = 0; i < count; ++i, ++at_) {
    while (at_ >= list_.end) next_list();
    const std::uint64_t source = *neighbours_.next();
    chunk_.source[i] = renumbering_.source ? renumbering_.source(source) : source;
    chunk_.target[i] = renumbering_.target ? renumbering_.target(list_.node) : list_.node;
    if (ids_) chunk_ids_[i] = *ids_->next();
  }
  EdgeSpan<std::uint64_t> span{chunk_.source.data(), chunk_.target.data(), count};
  if (ids_) span.ids = chunk_ids_.data();
  return span;
}

}  // namespace sluice
