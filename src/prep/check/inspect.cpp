#include "prep/check/inspect.h"

#include "storage/format/list_cursor.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice {
namespace {

RelationFigures measure(const std::string& root,
                        const Manifest& manifest,
                        const RelationSchema& relation,
                        MemoryLedger& ledger) {
  RelationFigures figures;
  figures.key = relation.key();
  figures.edges = relation.edges;
  const std::uint64_t targets = manifest.schema.node_type(relation.target)->count;
  if (targets != 0)
    figures.mean_in_degree = static_cast<double>(relation.edges) / static_cast<double>(targets);
  const auto count = [&figures](std::uint64_t degree, std::uint64_t nodes) {
    if (nodes == 0) return;
    const auto bucket = static_cast<std::size_t>(std::bit_width(degree));
    if (figures.degree_histogram.size() <= bucket) figures.degree_histogram.resize(bucket + 1);
    figures.degree_histogram[bucket] += nodes;
    figures.isolated_targets += degree == 0 ? nodes : 0;
  };
  const RelationLists lists = RelationLists::of(manifest.schema, relation, ListsOf::kTargets);
  ListCursor cursor(root, manifest, lists, &ledger);
  count(0, targets - lists.lists);
  for (std::int64_t byte = 8; const auto list = cursor.next(); byte += 8) {
    if (list->end < list->begin)
      throw Error(ErrorCode::kData,
                  "the offsets do not ascend",
                  "run sluice-prep verify",
                  Place{root + "/" + lists.offsets, -1, -1, byte});
    const std::uint64_t degree = list->end - list->begin;
    count(degree, 1);
    if (degree <= figures.max_in_degree) continue;
    figures.max_in_degree = degree;
    figures.max_in_degree_node = list->node;
  }
  return figures;
}

// Their numbers beside them: that is how the engine's files have them.
std::string label_names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMostShown = 50;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostShown); ++i)
    text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", i, names[i]);
  if (names.size() > kMostShown)
    text += fmt::format(", and {} more, in manifest.json", names.size() - kMostShown);
  return text;
}

std::string label_text(const std::optional<LabelSchema>& labels) {
  if (!labels) return "none";
  switch (labels->kind) {
    case LabelKind::kClass:
      return fmt::format("one of {} classes{}", labels->width, label_names_text(labels->names));
    case LabelKind::kMultiLabel:
      return fmt::format("any of {} labels{}", labels->width, label_names_text(labels->names));
    case LabelKind::kRegression:
      return fmt::format("{} targets", labels->width);
  }
  return {};
}

// A line each, below each other.
std::string features_text(const std::vector<FeatureSchema>& tables) {
  std::string text;
  for (const FeatureSchema& table : tables) {
    const FeatureLayout layout = Manifest::layout_of(table);
    text += fmt::format(
        "{}'{}' {} x {}{} ({}, {} a row, {})",
        text.empty() ? "" : "\n              ",
        table.name,
        table.dim,
        feature_dtype_name(table.dtype),
        table.sparse() ? fmt::format(", at most {} of them not 0", format_count(table.entries))
                       : "",
        format_bytes(layout.file_bytes()),
        format_bytes(layout.row_bytes),
        layout.rows_per_page == 0 ? "packed" : fmt::format("{} a page", layout.rows_per_page));
  }
  return text.empty() ? "none" : text;
}

std::string scaled_column(const FeatureScaling& scaling, std::size_t column) {
  std::string text =
      scaling.columns.empty() ? fmt::format("element {}", column) : scaling.columns[column];
  if (!scaling.shift.empty())
    text += fmt::format(": (x - {}) / {}", scaling.shift[column], scaling.divisor[column]);
  if (!scaling.fill.empty()) text += fmt::format(", missing: {}", scaling.fill[column]);
  return text;
}

// How columns were scaled and filled, and by what.
std::string scaling_text(const std::vector<FeatureSchema>& tables) {
  constexpr std::size_t kMostShown = 20;
  std::string text;
  for (const FeatureSchema& table : tables) {
    if (!table.scaling) continue;
    const FeatureScaling& scaling = *table.scaling;
    text +=
        fmt::format("    scaled:   {}{}{}\n",
                    scaling.scale,
                    scaling.fill.empty() ? "" : fmt::format(", missing: {}", scaling.missing),
                    scaling.over.empty()
                        ? ""
                        : fmt::format(", by {} ({})", scaling.over, format_count(scaling.rows)));
    for (std::size_t c = 0; c < std::min<std::size_t>(table.dim, kMostShown); ++c)
      text += fmt::format("      {}\n", scaled_column(scaling, c));
    if (table.dim > kMostShown)
      text += fmt::format("      and {} more, in manifest.json\n", table.dim - kMostShown);
  }
  return text;
}

// What stands beside a relation's edges.
std::string attributes_text(const RelationSchema& relation) {
  std::string text;
  if (!relation.title.empty()) text += fmt::format("    title:    {}\n", relation.title);
  if (relation.has_times || relation.has_weights) {
    text += fmt::format("    beside:   {}{}{}\n",
                        relation.has_times ? "times" : "",
                        relation.has_times && relation.has_weights ? ", " : "",
                        relation.has_weights ? "weights" : "");
  }
  if (!relation.features.empty())
    text += fmt::format(
        "    features: {}\n{}", features_text(relation.features), scaling_text(relation.features));
  if (relation.labels) text += fmt::format("    labels:   {}\n", label_text(relation.labels));
  return text;
}

std::string graphs_text(const GraphCollectionSchema& graphs) {
  std::string text = fmt::format("\ngraphs of '{}': {}\n    labels:   {}\n",
                                 graphs.node_type,
                                 format_count(graphs.count),
                                 label_text(graphs.labels));
  for (const SplitSchema& split : graphs.splits) {
    text += fmt::format("\nsplit '{}' of graphs: {} train, {} valid, {} test\n",
                        split.name,
                        format_count(split.train),
                        format_count(split.valid),
                        format_count(split.test));
  }
  return text;
}

// Of edges that compact has not folded in: the other figures are without them.
std::string appended_text(std::uint64_t appended) {
  return appended == 0 ? "" : fmt::format(" and {} appended", format_count(appended));
}

std::string histogram_text(const RelationFigures& figures) {
  std::string text;
  const std::uint64_t most =
      *std::max_element(figures.degree_histogram.begin(), figures.degree_histogram.end());
  for (std::size_t i = 0; i < figures.degree_histogram.size(); ++i) {
    const std::uint64_t count = figures.degree_histogram[i];
    const std::uint64_t low = i == 0 ? 0 : std::uint64_t{1} << (i - 1);
    const std::string range =
        i <= 1 ? fmt::format("{}", low) : fmt::format("{}-{}", low, 2 * low - 1);
    text += fmt::format("      {:>21}  {:>14}  {}\n",
                        range,
                        format_count(count),
                        std::string(count * 40 / most, '#'));
  }
  return text;
}

}  // namespace

InspectReport inspect_dataset(const std::string& path, PrepContext& context, Hot hot) {
  InspectReport report;
  report.manifest = Manifest::load(path).or_throw();
  for (const auto& [name, entry] : report.manifest.files) report.bytes += entry.bytes;
  for (const RelationSchema& relation : report.manifest.schema.relations) {
    report.relations.push_back(measure(path, report.manifest, relation, context.ledger));
  }
  if (hot == Hot::kSkip) return report;
  const std::filesystem::path root(path);
  for (const NodeTypeSchema& node : report.manifest.schema.nodes)
    report.hotness.push_back(measure_hotness({root, report.manifest, node, context}));
  return report;
}

std::string to_text(const InspectReport& report) {
  const Manifest& manifest = report.manifest;
  std::uint64_t appended = 0;
  for (const RelationSchema& relation : manifest.schema.relations) appended += relation.appended;
  std::string text =
      fmt::format("{} nodes, {} edges{}, {} in {} files, generation {}, made by {}\n",
                  format_count(manifest.schema.total_nodes()),
                  format_count(manifest.schema.total_edges()),
                  appended_text(appended),
                  format_bytes(report.bytes),
                  manifest.files.size(),
                  manifest.generation,
                  manifest.created_by);
  for (const NodeTypeSchema& node : manifest.schema.nodes) {
    text +=
        fmt::format("\nnodes '{}': {}\n    ids:      {}\n    features: {}\n{}    labels:   {}\n",
                    node.name,
                    format_count(node.count),
                    to_string(node.ids),
                    features_text(node.features),
                    scaling_text(node.features),
                    label_text(node.labels));
    if (node.has_times) text += "    times:    one a node\n";
  }
  for (const RelationFigures& relation : report.relations) {
    const RelationSchema& schema = *manifest.schema.relation(relation.key);
    text += fmt::format(
        "\nedges '{}': {}{}\n    in-degree: mean {:.2f}, largest {} (node {}), {} targets "
        "without\n",
        relation.key,
        format_count(relation.edges),
        appended_text(schema.appended),
        relation.mean_in_degree,
        format_count(relation.max_in_degree),
        relation.max_in_degree_node,
        format_count(relation.isolated_targets));
    text += attributes_text(schema);
    if (!relation.degree_histogram.empty())
      text += "    in-degrees of targets:\n" + histogram_text(relation);
  }
  for (const Hotness& hotness : report.hotness) text += to_text(hotness);
  for (const SplitSchema& split : manifest.schema.splits) {
    text += fmt::format("\nsplit '{}' of '{}': {} train, {} valid, {} test\n",
                        split.name,
                        split.node_type,
                        format_count(split.train),
                        format_count(split.valid),
                        format_count(split.test));
  }
  for (const EdgeSplitSchema& split : manifest.schema.edge_splits) {
    text += fmt::format(
        "\nsplit '{}' of {}: {} train, {} valid, {} test\n",
        split.name,
        split.relation.empty() ? "edges apart from the relations"
                               : fmt::format("edges of '{}'", split.relation),
        split.train == 0 && split.relation.empty() ? "all edges" : format_count(split.train),
        format_count(split.valid),
        format_count(split.test));
  }
  if (manifest.schema.graphs) text += graphs_text(*manifest.schema.graphs);
  return text;
}

}  // namespace sluice
