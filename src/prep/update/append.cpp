#include "prep/update/append.h"

#include "core/interrupt.h"
#include "prep/import/import_context.h"
#include "prep/update/generation.h"
#include "storage/format/appended_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

const RelationSchema& relation_of(const Manifest& manifest, const EdgeSpec& edge) {
  const std::string key = edge.source + "__" + edge.relation + "__" + edge.target;
  if (const RelationSchema* found = manifest.schema.relation(key)) return *found;
  throw Error(ErrorCode::kUsage,
              fmt::format("the dataset has no relation '{}'", key),
              "sluice-prep inspect shows its relations");
}

void check_spec(const GraphSpec& spec) {
  for (const NodeSpec& node : spec.nodes) {
    if (node.features.file.empty() && node.labels.file.empty() && node.id_list.file.empty())
      continue;
    throw Error(ErrorCode::kUsage,
                "append takes edges between nodes that are there",
                "leave the files of [[nodes]] out, or import the dataset again");
  }
  for (const EdgeSpec& edge : spec.edges) {
    if (edge.csc.self_loops == SelfLoops::kKeep && edge.csc.duplicates == Duplicates::kKeep)
      continue;
    throw Error(ErrorCode::kUsage,
                "append keeps all edges: self_loops and duplicates do not apply",
                "leave these keys out");
  }
}

// Node types and their ids are the dataset's own, whatever the spec leaves out.
void take_types(GraphSpec& spec, const Manifest& manifest) {
  spec.nodes.clear();
  for (const NodeTypeSchema& node : manifest.schema.nodes) {
    NodeSpec own;
    own.type = node.name;
    own.ids = node.ids;
    own.count = node.ids == IdKind::kDense ? static_cast<std::int64_t>(node.count) : 0;
    spec.nodes.push_back(std::move(own));
  }
  spec.splits.clear();
  complete_spec(spec);
}

class Append {
 public:
  Append(NextGeneration& next,
         const TableFormats& formats,
         GraphSpec& spec,
         PrepContext& context,
         const std::filesystem::path& root)
      : next_(next), imports_{spec, formats, root, next.writer(), context, {}} {
    const Dataset dataset = next.open_old();
    for (const NodeSpec& node : spec.nodes) {
      NodeState state{node, NodeIds(node.type, node.ids, context.ledger), {}, nullptr};
      state.ids.load(dataset.ids(node.type), dataset.schema().node_type(node.type)->count);
      imports_.nodes.emplace(node.type, std::move(state));
    }
  }

  /// All [[edges]] of the relation behind what its log has. Returns how many came.
  std::uint64_t relation(RelationSchema& relation) {
    std::vector<const EdgeSpec*> specs;
    for (const EdgeSpec& edge : imports_.spec.edges) {
      if (&relation_of(next_.old_manifest(), edge) ==
          next_.old_manifest().schema.relation(relation.key()))
        specs.push_back(&edge);
    }
    if (specs.empty()) {
      next_.keep_relation(relation);
      return 0;
    }
    const std::string log_path = relation_path(relation, kAppendedName);
    next_.keep_relation_but(relation, log_path);
    auto log = next_.writer().create(log_path);
    if (relation.appended != 0) next_.copy_values(log_path, relation.appended * 3, *log);
    std::uint64_t id = relation.appended != 0  ? relation.appended_id_bound
                       : relation.has_edge_ids ? relation.edge_id_bound
                                               : relation.edges;
    const std::uint64_t before = relation.appended;
    for (const EdgeSpec* spec : specs) append_file(*spec, relation, *log, id);
    relation.appended_id_bound = id;
    next_.writer().add(std::move(log));
    return relation.appended - before;
  }

 private:
  void append_file(const EdgeSpec& spec,
                   RelationSchema& relation,
                   DataFileWriter& log,
                   std::uint64_t& id) {
    const auto edges = open_edges(imports_, spec);
    const bool one_type = relation.source == relation.target;
    if (spec.csc.undirected && !one_type) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("relation '{}' joins two node types: undirected does not apply",
                              relation.key()),
                  "append the reverse to a relation of its own");
    }
    std::vector<AppendedEdge> rows;
    while (const auto view = edges->next()) {
      throw_if_interrupted();
      rows.clear();
      const auto& span = std::get<EdgeSpan<std::uint64_t>>(*view);
      for (std::size_t i = 0; i < span.count; ++i, ++id) {
        rows.push_back({span.source[i], span.target[i], id});
        if (spec.csc.undirected && span.source[i] != span.target[i])
          rows.push_back({span.target[i], span.source[i], id});
      }
      log.append_values(std::span<const AppendedEdge>(rows));
      relation.appended += rows.size();
    }
  }

  NextGeneration& next_;
  ImportContext imports_;
};

}  // namespace

UpdateReport append_edges(const std::filesystem::path& dataset,
                          GraphSpec spec,
                          const TableFormats& formats,
                          const std::filesystem::path& root,
                          const std::string& created_by,
                          PrepContext& context) {
  check_spec(spec);
  NextGeneration next(dataset, context);
  take_types(spec, next.old_manifest());
  for (const EdgeSpec& edge : spec.edges) (void)relation_of(next.old_manifest(), edge);
  next.keep_nodes_and_splits();
  UpdateReport report;
  Append append(next, formats, spec, context, root);
  for (RelationSchema relation : next.old_manifest().schema.relations) {
    report.edges += append.relation(relation);
    next.writer().schema().relations.push_back(std::move(relation));
  }
  next.commit(created_by, report);
  return report;
}

}  // namespace sluice
