#include "prep/csc_builder.h"
#include "prep/dataset_edges.h"
#include "prep/update/append.h"
#include "prep/update/generation.h"
#include "prep/update/merged_events.h"
#include "storage/format/appended_edges.h"
#include "storage/format/data_file.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice {
namespace {

/// A relation's edges and then those of its log. Stable conversion puts the latter behind the
/// former in every node's list.
class AllEdges final : public EdgeStream {
 public:
  AllEdges(const std::filesystem::path& root,
           const Manifest& manifest,
           const RelationSchema& relation,
           MemoryLedger* ledger)
      : base_(root, manifest, relation, {}, ledger),
        log_(root,
             find_file(root, manifest, relation_path(relation, kAppendedName)).or_throw(),
             DType::kU64,
             relation.appended * 3,
             ledger),
        left_(relation.appended),
        edges_(relation.edges + relation.appended),
        ids_(relation.has_edge_ids),
        id_bound_(relation.appended_id_bound) {}

  std::optional<EdgeView> next() override {
    if (const auto view = base_.next()) return view;
    constexpr std::uint64_t kChunk = 1 << 16;
    const std::uint64_t count = std::min(kChunk, left_);
    if (count == 0) return std::nullopt;
    chunk_.resize(count);
    chunk_ids_.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      chunk_.source[i] = *log_.next();
      chunk_.target[i] = *log_.next();
      chunk_ids_[i] = *log_.next();
    }
    left_ -= count;
    EdgeSpan<std::uint64_t> span{chunk_.source.data(), chunk_.target.data(), count};
    if (ids_) span.ids = chunk_ids_.data();
    return span;
  }

  std::optional<std::uint64_t> expected() const override { return edges_; }
  std::optional<std::uint64_t> id_bound() const override {
    return ids_ ? std::optional(id_bound_) : std::nullopt;
  }

 private:
  DatasetEdges base_;
  ValueCursor log_;
  std::uint64_t left_;
  std::uint64_t edges_;
  bool ids_;
  std::uint64_t id_bound_;
  EdgeChunk<std::uint64_t> chunk_;
  std::vector<std::uint64_t> chunk_ids_;
};

void fold(NextGeneration& next,
          const RelationSchema& relation,
          RelationSchema& after,
          EdgeStream& edges,
          PrepContext& context) {
  const GraphSchema& schema = next.old_manifest().schema;
  CscOptions csc;
  csc.edge_ids = relation.has_edge_ids;
  csc.out_edges = relation.has_out_edges;
  build_csc(next.writer(),
            after,
            schema.node_type(relation.source)->count,
            schema.node_type(relation.target)->count,
            edges,
            csc,
            context.arena,
            context.progress);
}

}  // namespace

UpdateReport compact_dataset(const std::filesystem::path& dataset,
                             const std::string& created_by,
                             PrepContext& context) {
  NextGeneration next(dataset, context);
  next.keep_nodes_and_splits();
  const Manifest& old = next.old_manifest();
  UpdateReport report;
  for (const RelationSchema& relation : old.schema.relations) {
    RelationSchema after = relation;
    if (relation.appended == 0) {
      next.keep_relation(relation);
    } else {
      if (relation.has_times) {
        MergedEvents edges(dataset, old, relation, &context.ledger);
        auto times = next.writer().create(relation_path(relation, "times.bin"));
        edges.write_times(*times);
        fold(next, relation, after, edges, context);
        next.writer().add(std::move(times));
      } else {
        AllEdges edges(dataset, old, relation, &context.ledger);
        fold(next, relation, after, edges, context);
      }
      report.edges += relation.appended;
      after.appended = after.appended_id_bound = 0;
    }
    next.writer().schema().relations.push_back(std::move(after));
  }
  next.commit(created_by, report);
  return report;
}

}  // namespace sluice
