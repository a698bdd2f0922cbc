// OGB's data sets in the form of arrays: raw/data.npz, and the labels in raw/node-label.npz.
#include "prep/layout/glance.h"
#include "prep/layout/ogb_parts.h"

#include <fmt/format.h>

#include <set>

namespace sluice {
namespace {

class OgbArrays {
 public:
  OgbArrays(const FileSet& files, const std::string& folder, Description& made)
      : files_(files), folder_(folder), file_(folder + "raw/data.npz"), made_(made) {
    const auto table = files.open(file_, "npz", made.spec.formats);
    for (const ColumnInfo& column : table->columns()) arrays_.insert(column.name);
  }

  void run() {
    if (!take("edge_index"))
      throw Error(ErrorCode::kData,
                  "there is no array edge_index",
                  "OGB's data.npz has edge_index, num_nodes_list and num_edges_list",
                  Place{(files_.root() / file_).string(), -1, -1, -1});
    describe_nodes();
    describe_edges();
    add_labels("node-label", "node_label", made_.spec.nodes[0].labels, "nodes[0].labels");
    add_labels("graph-label", "graph_label", made_.spec.graphs.labels, "graphs.labels");
    add_ogb_splits(
        files_, made_, folder_, made_.spec.graphs.any() ? SplitOf::kGraphs : SplitOf::kNodes);
    for (const std::string& name : arrays_)
      made_.warn(fmt::format("{}: the array {} has no place in a graph.toml", file_, name));
  }

 private:
  /// Whether there is an array of that name; it is dealt with then.
  bool take(const std::string& name) { return arrays_.erase(name) != 0; }

  ColumnSpec column(const std::string& name) const {
    ColumnSpec spec;
    spec.file = file_;
    spec.column = name;
    return spec;
  }

  std::vector<std::int64_t> first_numbers(const std::string& name) const {
    const auto table = files_.open(file_, "npz", made_.spec.formats);
    table->select({{name, ColumnType::kInteger}});
    TableChunk chunk;
    if (!table->next(chunk)) return {};
    return {chunk.columns[0].integers.begin(), chunk.columns[0].integers.end()};
  }

  void describe_nodes() {
    NodeSpec& node = made_.spec.nodes.emplace_back();
    const bool edge_sizes = take("num_edges_list");
    if (take("num_nodes_list")) {
      const auto counts = first_numbers("num_nodes_list");
      if (counts.size() > 1) {
        made_.spec.graphs.sizes = column("num_nodes_list");
        if (edge_sizes) made_.spec.graphs.edge_sizes = column("num_edges_list");
      } else if (!counts.empty()) {
        node.count = counts.front();
      }
    }
    if (take("node_feat")) {
      node.features.file = file_;
      node.features.columns = {"node_feat"};
    }
    if (take("node_year")) static_cast<ColumnSpec&>(node.times) = column("node_year");
  }

  void describe_edges() {
    EdgeSpec& edge = made_.spec.edges.emplace_back();
    edge.file = file_;
    edge.source_column = "edge_index";
    edge.target_column = "edge_index";
    if (take("edge_feat")) {
      edge.features.file = file_;
      edge.features.columns = {"edge_feat"};
    }
    if (take("edge_reltype")) {
      edge.labels.file = file_;
      edge.labels.columns = {"edge_reltype"};
    }
  }

  void add_labels(const std::string& stem,
                  const std::string& array,
                  LabelSpec& labels,
                  const std::string& where) {
    const auto file = files_.find(folder_ + "raw/" + stem, {".npz", ".csv.gz", ".csv"});
    if (!file) return;
    if (!file->ends_with(".npz")) return set_ogb_labels(files_, made_, *file, labels, where);
    labels.file = *file;
    labels.columns = {array};
    if (stem == "node-label") {
      labels.kind = LabelKindChoice::kClass;
      return;
    }
    TableGlance only = glance_at(files_, *file, "npz", made_.spec.formats);
    std::erase_if(only.columns,
                  [&](const ColumnGlance& column) { return column.info.name != array; });
    if (!only.columns.empty() && !only.columns.front().integers)
      made_.comment(where + ".kind", guess_labels(only, labels));
  }

  const FileSet& files_;
  std::string folder_, file_;
  Description& made_;
  std::set<std::string> arrays_;
};

}  // namespace

void describe_ogb_arrays(const FileSet& files, const std::string& folder, Description& made) {
  OgbArrays(files, folder, made).run();
}

}  // namespace sluice
