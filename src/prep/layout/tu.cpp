#include "prep/layout/tu.h"

#include "prep/layout/glance.h"

#include <fmt/format.h>

namespace sluice {
namespace {

/// "a/MUTAG" of "a/MUTAG_A.txt", where the graph of each node is told too.
std::optional<std::string> find_prefix(const FileSet& files) {
  constexpr std::string_view kEdges = "_A.txt";
  for (const std::string& name : files.names()) {
    if (!name.ends_with(kEdges)) continue;
    std::string prefix = name.substr(0, name.size() - kEdges.size());
    if (files.has(prefix + "_graph_indicator.txt")) return prefix;
  }
  return std::nullopt;
}

class TuData {
 public:
  TuData(const FileSet& files, std::string prefix)
      : files_(files), prefix_(std::move(prefix)), made_(files) {}

  Description run() {
    made_.set_format("csv", "header = \"no\"");
    describe_nodes();
    describe_edges();
    describe_graphs();
    return std::move(made_);
  }

 private:
  std::optional<std::string> part(const std::string& name) const {
    return files_.find(prefix_ + "_" + name, {".txt"});
  }

  /// @param where the table, for comments: "nodes[0].labels"
  void set_labels(LabelSpec& labels, const std::string& file, const std::string& where) {
    labels.file = file;
    labels.format = "csv";
    const TableGlance glance = glance_at(files_, file, "csv", made_.spec.formats);
    if (glance.columns.size() == 1)
      return made_.comment(where + ".kind", guess_labels(glance, labels));
    labels.columns = {glance.columns.front().info.name};
    labels.kind = LabelKindChoice::kName;
    made_.comment(where + ".columns",
                  fmt::format("The first of {} columns; others can be taken instead.",
                              glance.columns.size()));
  }

  void describe_nodes() {
    NodeSpec& node = made_.spec.nodes.emplace_back();
    node.first_id = 1;
    if (const auto file = part("node_attributes")) {
      node.features.file = *file;
      node.features.format = "csv";
    }
    if (const auto file = part("label_table")) set_labels(node.labels, *file, "nodes[0].labels");
  }

  void describe_edges() {
    EdgeSpec& edge = made_.spec.edges.emplace_back();
    edge.file = prefix_ + "_A.txt";
    edge.format = "csv";
    if (const auto file = part("edge_attributes")) {
      edge.features.file = *file;
      edge.features.format = "csv";
    }
    if (const auto file = part("edge_labels")) set_labels(edge.labels, *file, "edges[0].labels");
  }

  void describe_graphs() {
    GraphsSpec& graphs = made_.spec.graphs;
    graphs.membership.file = prefix_ + "_graph_indicator.txt";
    graphs.membership.format = "csv";
    graphs.first_id = 1;
    const auto labels = part("graph_labels"), targets = part("graph_attributes");
    if (labels) {
      set_labels(graphs.labels, *labels, "graphs.labels");
      if (targets)
        made_.warn(fmt::format(
            "{}: graphs have one table of labels, {} here; name it in [graphs] labels.file, with "
            "labels.kind = \"regression\", to predict these numbers instead",
            *targets,
            *labels));
    } else if (targets) {
      graphs.labels.file = *targets;
      graphs.labels.format = "csv";
      const TableGlance glance = glance_at(files_, *targets, "csv", made_.spec.formats);
      guess_labels(glance, graphs.labels);
      graphs.labels.kind = LabelKindChoice::kRegression;
    }
  }

  const FileSet& files_;
  std::string prefix_;
  Description made_;
};

}  // namespace

std::optional<std::string> TuLayout::recognise(const FileSet& files) const {
  const auto prefix = find_prefix(files);
  if (!prefix) return std::nullopt;
  return fmt::format("there are {0}_A.txt and {0}_graph_indicator.txt", *prefix);
}

Description TuLayout::describe(const FileSet& files) const {
  return TuData(files, *find_prefix(files)).run();
}

}  // namespace sluice
