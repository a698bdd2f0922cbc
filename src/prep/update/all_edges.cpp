#include "prep/update/all_edges.h"

#include "storage/format/appended_edges.h"
#include "storage/format/data_file.h"

#include <algorithm>

namespace sluice {

AllEdges::AllEdges(const std::filesystem::path& root,
                   const Manifest& manifest,
                   const RelationSchema& relation,
                   MemoryLedger* ledger)
    : base_(root, manifest, relation, {}, ledger),
      left_(relation.appended),
      edges_(relation.edges + relation.appended),
      ids_(relation.has_edge_ids),
      id_bound_(relation.appended_id_bound) {
  if (relation.appended != 0)
    log_.emplace(root,
                 find_file(root, manifest, relation_path(relation, kAppendedName)).or_throw(),
                 DType::kU64,
                 relation.appended * 3,
                 ledger);
}

std::optional<EdgeView> AllEdges::next() {
  if (const auto view = base_.next()) return view;
  constexpr std::uint64_t kChunk = 1 << 16;
  const std::uint64_t count = std::min(kChunk, left_);
  if (count == 0) return std::nullopt;
  chunk_.resize(count);
  chunk_ids_.resize(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    chunk_.source[i] = *log_->next();
    chunk_.target[i] = *log_->next();
    chunk_ids_[i] = *log_->next();
  }
  left_ -= count;
  EdgeSpan<std::uint64_t> span{chunk_.source.data(), chunk_.target.data(), count};
  if (ids_) span.ids = chunk_ids_.data();
  return span;
}

}  // namespace sluice
