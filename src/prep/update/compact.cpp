#include "prep/csc_builder.h"
#include "prep/update/all_edges.h"
#include "prep/update/append.h"
#include "prep/update/generation.h"
#include "prep/update/merged_events.h"

#include <utility>

namespace sluice {
namespace {

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
