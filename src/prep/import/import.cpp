#include "prep/import/import.h"

#include "prep/import/import_context.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <chrono>

namespace sluice {
namespace {

// Finds missing files before any work is done.
void check_files(const GraphSpec& spec,
                 const TableFormats& formats,
                 const std::filesystem::path& root) {
  const auto check =
      [&](const std::string& key, const std::string& file, const std::string& format) {
        if (file.empty()) return;
        const std::filesystem::path path = TablePath::parse(root / file).file;
        (void)formats.resolve(path, format);
        std::error_code problem;
        if (std::filesystem::exists(path, problem)) return;
        throw Error(ErrorCode::kData,
                    fmt::format("there is no such file (it is {})", key),
                    "file names are relative to graph.toml's folder, its root key, or --root",
                    Place{path.string(), -1, -1, -1});
      };
  for (const NodeSpec& node : spec.nodes) {
    const std::string where = fmt::format("[[nodes]] '{}' ", node.type);
    check(where + "id_list.file", node.id_list.file, node.id_list.format);
    check(where + "features.file", node.features.file, node.features.format);
    check(where + "labels.file", node.labels.file, node.labels.format);
  }
  for (const EdgeSpec& edge : spec.edges)
    check(fmt::format("[[edges]] '{}' file", edge.relation), edge.file, edge.format);
  for (const SplitSpec& split : spec.splits) {
    const std::string where = fmt::format("[[splits]] '{}' ", split.name);
    check(where + "train", split.train, split.format);
    check(where + "valid", split.valid, split.format);
    check(where + "test", split.test, split.format);
  }
}

std::map<std::string, NodeState> make_nodes(const GraphSpec& spec, MemoryLedger& ledger) {
  std::map<std::string, NodeState> nodes;
  for (const NodeSpec& node : spec.nodes) {
    NodeState state{node, NodeIds(node.type, node.ids, ledger), {}, nullptr};
    state.schema.name = node.type;
    state.schema.ids = node.ids;
    if (node.count != 0) state.ids.set_count(static_cast<std::uint64_t>(node.count), "count", {});
    nodes.emplace(node.type, std::move(state));
  }
  return nodes;
}

// Counts come first: from lists and rows where there are any, else from the edges.
void import_nodes(ImportContext& context) {
  for (const NodeSpec& spec : context.spec.nodes) {
    NodeState& node = context.node(spec.type);
    if (!spec.id_list.file.empty()) import_id_list(context, node);
    if (!spec.features.file.empty()) import_features(context, node);
    if (!spec.labels.file.empty() && spec.labels.id_column.empty())
      import_labels_by_position(context, node);
  }
  collect_ids_from_edges(context);
  for (const NodeSpec& spec : context.spec.nodes) {
    NodeState& node = context.node(spec.type);
    if (*node.ids.count() == 0) {
      throw Error(ErrorCode::kData,
                  fmt::format("type '{}' has no nodes", spec.type),
                  "its files hold no rows");
    }
    if (!spec.labels.id_column.empty()) import_labels_by_id(context, node);
    node.ids.write(context.writer);
    node.schema.count = *node.ids.count();
    context.writer.schema().nodes.push_back(node.schema);
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
  DatasetWriter writer(options.out, options.overwrite, &prep.ledger, options.resume);
  for (const std::string& leftover : writer.staging().swept()) {
    prep.log.warn("removed {}, which an import that was killed had left", leftover);
  }
  ImportContext context{spec, formats, options.root, writer, prep, make_nodes(spec, prep.ledger)};
  ImportReport report;
  import_nodes(context);
  for (const EdgeSpec& edge : spec.edges) {
    CscStats stats;
    writer.stage(fmt::format("edges-{}", report.relations.size()),
                 [&] { stats = import_edges(context, edge); });
    const RelationSchema& relation = writer.schema().relations.back();
    stats.edges_written = relation.edges;  // of a stage taken over no more is known
    report.relations.push_back({relation.key(), stats});
  }
  for (const SplitSpec& split : spec.splits) import_split(context, split);
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
  for (const auto& [key, stats] : report.relations) {
    text += fmt::format("  {}: {} edges read, {} written",
                        key,
                        format_count(stats.edges_read),
                        format_count(stats.edges_written));
    if (stats.self_loops_dropped != 0)
      text += fmt::format(", {} self loops dropped", format_count(stats.self_loops_dropped));
    if (stats.duplicates_dropped != 0)
      text += fmt::format(", {} duplicates dropped", format_count(stats.duplicates_dropped));
    text += fmt::format("; largest in-degree {}, {} nodes without in-edges\n",
                        format_count(stats.max_in_degree),
                        format_count(stats.isolated_targets));
  }
  return text;
}

}  // namespace sluice
