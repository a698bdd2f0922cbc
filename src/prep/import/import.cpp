#include "prep/import/import.h"

#include "prep/import/edge_splits.h"
#include "prep/import/import_context.h"
#include "prep/import/import_relations.h"
#include "prep/import/input_check.h"
#include "prep/import/number_names.h"
#include "prep/import/odd_ids.h"
#include "prep/import/settle_places.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace sluice {
namespace {

std::map<std::string, NodeState> make_nodes(const GraphSpec& spec, MemoryLedger& ledger) {
  std::map<std::string, NodeState> nodes;
  for (const NodeSpec& node : spec.nodes) {
    const IdRules rules{node.ids, node.first_id, node.unknown_ids};
    NodeState state{node, NodeIds(node.type, rules, ledger), {}, nullptr};
    state.schema.name = node.type;
    state.schema.ids = state.ids.stored_kind();
    const auto count = static_cast<std::uint64_t>(node.count);
    if (count != 0 && node.unknown_ids != UnknownIds::kCreate)
      state.ids.set_count(count, "count", {});
    if (node.unknown_ids == UnknownIds::kCreate) state.ids.expect_dense(count);
    nodes.emplace(node.type, std::move(state));
  }
  return nodes;
}

/// Whether rows go by ids that nothing but the edges names.
template <class Rows>
bool needs_nodes(const NodeSpec& node, const Rows& rows) {
  return !rows.id_column.empty() && node.ids != IdKind::kDense && node.id_list.file.empty();
}

/// The split whose training rows the statistics of a type's features are of: the one that is called
/// 'default', else the first, of the nodes or of the graphs that have them.
const SplitSpec* find_training_split(const GraphSpec& spec, const NodeSpec& node) {
  const bool in_graphs = spec.graphs.any() && spec.graphs.node_type == node.type;
  const auto is_its = [&](const SplitSpec& split) {
    return (split.of == SplitOf::kNodes && split.node_type == node.type) ||
           (split.of == SplitOf::kGraphs && in_graphs);
  };
  const SplitSpec* found = nullptr;
  for (const SplitSpec& split : spec.splits) {
    if (!is_its(split)) continue;
    if (found == nullptr || (split.name == SplitSpec().name && found->name != split.name))
      found = &split;
  }
  return found;
}

// Where a split says which rows count, the features wait for it.
void begin_features(ImportContext& context, NodeState& node) {
  if (node.spec.features.file.empty()) return;
  if (node.spec.features.scaling.needs_statistics())
    node.training_split = find_training_split(context.spec, node.spec);
  if (node.training_split == nullptr) return import_features(context, node);
  node.training = std::make_unique<NodeBits>(context.prep.ledger);
  count_feature_rows(context, node);
}

void finish_features(ImportContext& context) {
  for (auto& [type, node] : context.nodes) {
    if (node.training_split == nullptr) continue;
    import_features(context, node);
    for (NodeTypeSchema& written : context.writer.schema().nodes)
      if (written.name == type) written.features = node.schema.features;
  }
}

// A type may be empty beside others; a graph without any node is an error.
void say_empty(ImportContext& context, const std::string& type) {
  const std::string text = fmt::format("type '{}' has no nodes", type);
  const bool any = std::any_of(context.nodes.begin(), context.nodes.end(), [](const auto& other) {
    return other.second.ids.count().value_or(0) != 0;
  });
  if (!any) throw Error(ErrorCode::kData, text, "its files hold no rows");
  context.prep.log.warn("{}: its files hold no rows", text);
}

// Counts come first: from lists and rows where there are any, else from the edges.
SpooledTables import_nodes(ImportContext& context) {
  for (const NodeSpec& spec : context.spec.nodes) {
    NodeState& node = context.node(spec.type);
    if (!spec.id_list.file.empty()) import_id_list(context, node);
    if (!spec.names.file.empty()) import_node_names(context, node);
    if (!needs_nodes(spec, spec.features)) begin_features(context, node);
    if (!spec.labels.file.empty() && spec.labels.id_column.empty())
      import_labels_by_position(context, node);
    if (!spec.times.file.empty() && !needs_nodes(spec, spec.times))
      import_node_times(context, node);
  }
  load_graphs(context);
  SpooledTables tables = spool_edges(context);
  for (const NodeSpec& spec : context.spec.nodes) {
    NodeState& node = context.node(spec.type);
    if (*node.ids.count() == 0) say_empty(context, spec.type);
    if (needs_nodes(spec, spec.features)) begin_features(context, node);
    if (needs_nodes(spec, spec.times)) import_node_times(context, node);
    if (!spec.labels.id_column.empty()) import_labels_by_id(context, node);
    if (has_split_labels(context.spec.splits, spec.type)) import_labels_of_splits(context, node);
    node.ids.write(context.writer);
    node.schema.count = *node.ids.count();
    context.writer.schema().nodes.push_back(node.schema);
  }
  return tables;
}

void import_splits(ImportContext& context, const SpooledTables& tables) {
  std::unique_ptr<NodeBits> labelled_graphs;
  if (context.spec.graphs.any()) labelled_graphs = import_graphs(context);
  for (std::size_t i = 0; i < context.spec.splits.size(); ++i) {
    const SplitSpec& split = context.spec.splits[i];
    if (split.of == SplitOf::kNodes) import_split(context, split);
    if (split.of == SplitOf::kGraphs) import_graph_split(context, split, labelled_graphs.get());
    // By ratio it was drawn when its relation was written.
    if (split.of == SplitOf::kEdges && !split.by_ratio())
      write_edge_rows(context, split, tables.splits[i]);
  }
}

}  // namespace

ImportReport import_dataset(GraphSpec spec,
                            const TableFormats& formats,
                            const ImportOptions& options,
                            PrepContext& prep) {
  const auto start = std::chrono::steady_clock::now();
  complete_spec(spec);
  check_files(spec, formats, options.root);
  check_contents(spec, formats, options.root, prep);
  settle_places(spec, formats, options.root, prep);
  DatasetWriter writer(options.out, options.overwrite, &prep.ledger, options.resume);
  for (const std::string& leftover : writer.staging().swept()) {
    prep.log.warn("removed {}, which an import that was killed had left", leftover);
  }
  ImportContext context{spec, formats, options.root, writer, prep, make_nodes(spec, prep.ledger)};
  ImportReport report;
  SpooledTables tables = import_nodes(context);
  say_odd_ids(context);
  for (std::size_t i = 0; i < spec.edges.size(); ++i) {
    const std::size_t before = report.relations.size();
    import_relations(context, spec.edges[i], std::move(tables.edges[i]), report.relations);
    if (spec.edges[i].type_column.empty() && before < report.relations.size())
      say_size_row(context, spec.edges[i], report.relations[before].stats.edges_read);
  }
  import_splits(context, tables);
  finish_features(context);
  for (const auto& [type, node] : context.nodes)
    if (node.created != 0 || node.skipped != 0)
      report.types.push_back({type, node.created, node.skipped});
  report.schema = writer.schema();
  writer.commit(options.created_by);
  report.nodes = report.schema.total_nodes();
  report.edges = report.schema.total_edges();
  report.bytes = writer.bytes();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

std::string to_text(const ImportReport& report) {
  std::string text = fmt::format("{} nodes, {} edges, {} in {:.2f} s\n",
                                 format_count(report.nodes),
                                 format_count(report.edges),
                                 format_bytes(report.bytes),
                                 report.seconds);
  for (const auto& [key, stats, skipped] : report.relations) {
    text += fmt::format("  {}: {} edges read, {} written",
                        key,
                        format_count(stats.edges_read),
                        format_count(stats.edges_written));
    if (stats.self_loops_dropped != 0)
      text += fmt::format(", {} self loops dropped", format_count(stats.self_loops_dropped));
    if (stats.duplicates_dropped != 0)
      text += fmt::format(", {} duplicates dropped", format_count(stats.duplicates_dropped));
    if (skipped != 0)
      text += fmt::format(", {} rows of unknown ids skipped", format_count(skipped));
    text += fmt::format("; largest in-degree {}, {} nodes without in-edges\n",
                        format_count(stats.max_in_degree),
                        format_count(stats.isolated_targets));
  }
  for (const TypeImport& type : report.types) {
    if (type.created != 0)
      text += fmt::format(
          "  {}: {} nodes that only edges name\n", type.type, format_count(type.created));
    if (type.skipped != 0)
      text += fmt::format("  {}: {} labels and split rows of unknown ids skipped\n",
                          type.type,
                          format_count(type.skipped));
  }
  return text;
}

}  // namespace sluice
