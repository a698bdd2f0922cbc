// DGL's CSVDataset.
#include "prep/layout/dgl_parts.h"
#include "prep/layout/glance.h"
#include "prep/layout/mask_guess.h"
#include "prep/layout/scaling_guess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {
namespace {

class CsvDataset {
 public:
  CsvDataset(const FileSet& files, const std::string& folder, const Yaml& meta, Description& made)
      : files_(files), folder_(folder), meta_(meta), made_(made) {}

  void run() {
    if (const std::string separator = meta_.text("separator"); !separator.empty()) {
      if (separator != ",")
        made_.set_format("csv",
                         fmt::format("delimiter = \"{}\"", separator == "\t" ? "\\t" : separator));
    }
    for (const Yaml& entry : meta_.list("node_data")) add_nodes(entry);
    for (const Yaml& entry : meta_.list("edge_data")) add_edges(entry);
    if (const auto graphs = meta_.get("graph_data"))
      made_.warn(
          fmt::format("{}: data of graphs; graphs of such data sets count their nodes anew, "
                      "and cannot be told apart",
                      graphs->text("file_name")));
  }

 private:
  /// What the columns of a table of nodes or edges are.
  struct Columns {
    std::vector<std::string> numbers;  ///< of features
    bool label = false;
    MaskColumns masks;
  };

  std::string file_of(const Yaml& entry) const {
    const std::string name = folder_ + entry.required("file_name");
    if (!files_.has(name))
      entry.fail(fmt::format("there is no file {}", name),
                 "file names are relative to the YAML file");
    return name;
  }

  TableGlance glance(const std::string& file) const {
    return glance_at(files_, file, "csv", made_.spec.formats);
  }

  static const ColumnGlance* find(const TableGlance& glance, const std::string& name) {
    for (const ColumnGlance& column : glance.columns)
      if (column.info.name == name) return &column;
    return nullptr;
  }

  /// Sorts out the columns that are no ids. Says what cannot be taken.
  Columns sort_columns(const std::string& file,
                       const TableGlance& glance,
                       const std::vector<std::string>& ids) {
    Columns found;
    for (const ColumnGlance& column : glance.columns) {
      const std::string& name = column.info.name;
      if (std::find(ids.begin(), ids.end(), name) != ids.end()) continue;
      if (name == "graph_id") {
        refuse_graphs(file, column);
      } else if (name == "train_mask" || name == "val_mask" || name == "test_mask") {
        const std::string why = found.masks.take(column, glance.rows);
        if (!why.empty()) made_.warn(fmt::format("{}: the column {}: {}", file, name, why));
      } else if (name == "label") {
        found.label = true;
      } else if (column.numbers) {
        found.numbers.push_back(name);
      } else {
        made_.warn(
            fmt::format("{}: the column {} holds texts, or lists of numbers in quotes; "
                        "features are a column a number, or a .npy file",
                        file,
                        name));
      }
    }
    return found;
  }

  void refuse_graphs(const std::string& file, const ColumnGlance& column) const {
    if (column.different.size() <= 1) return;
    throw Error(ErrorCode::kData,
                "there are many graphs, and each counts its nodes anew",
                "count the nodes through all graphs, and write a graph.toml with [graphs] "
                "membership = { file = ..., column = \"graph_id\" }",
                Place{(files_.root() / file).string(), -1, -1, -1});
  }

  void add_nodes(const Yaml& entry) {
    const std::string file = file_of(entry);
    const std::string id = entry.has("node_id_field") ? entry.text("node_id_field") : "node_id";
    const TableGlance seen = glance(file);
    const ColumnGlance* ids = find(seen, id);
    if (ids == nullptr)
      entry.fail(fmt::format("{} has no column {}", file, id), "node_id_field names it");
    const std::string path = fmt::format("nodes[{}]", made_.spec.nodes.size());
    NodeSpec& node = made_.spec.nodes.emplace_back();
    node.type = entry.has("ntype") ? plain_name(entry.text("ntype")) : "node";
    set_ids(node, file, *ids, seen, path);
    const Columns columns = sort_columns(file, seen, {id});
    if (!columns.numbers.empty()) {
      node.features.file = file;
      node.features.columns = columns.numbers;
      guess_scaling(seen, node.features, path + ".features", made_);
    }
    if (columns.label) set_label(node.labels, file, seen, path);
    if (columns.masks.any()) add_split(columns.masks, file, node.type);
  }

  void add_split(const MaskColumns& masks, const std::string& file, const std::string& type) {
    const auto split = masks.split(file, "auto");
    if (!split)
      return made_.warn(fmt::format(
          "{}: {}: without a train_mask this is no split", file, fmt::join(masks.names(), ", ")));
    auto& splits = made_.spec.splits;
    made_.comment(fmt::format("splits[{}].columns", splits.size()),
                  "Masks: one truth value a row, which is the node of that row.");
    splits.push_back(*split);
    splits.back().node_type = type;
    if (splits.size() > 1) splits.back().name = type;
  }

  void set_ids(NodeSpec& node,
               const std::string& file,
               const ColumnGlance& ids,
               const TableGlance& seen,
               const std::string& path) {
    const bool counted = seen.whole && ids.integers && ids.ascending && ids.least == 0 &&
                         ids.different.size() == seen.rows &&
                         static_cast<std::uint64_t>(ids.largest) + 1 == seen.rows;
    if (counted) {
      node.count = static_cast<std::int64_t>(seen.rows);
      return made_.comment(path + ".count", fmt::format("{} names 0, 1, 2, ... in order.", file));
    }
    node.ids = ids.integers ? IdKind::kInteger : IdKind::kString;
    node.id_list.file = file;
    node.id_list.column = ids.info.name;
  }

  /// @param path of the table that has the labels, for comments
  void set_label(LabelSpec& labels,
                 const std::string& file,
                 const TableGlance& seen,
                 const std::string& path) {
    labels.file = file;
    TableGlance only;
    only.whole = seen.whole;
    only.columns = {*find(seen, "label")};
    made_.comment(path + ".labels.kind", guess_labels(only, labels));
    labels.columns = {"label"};
  }

  void add_edges(const Yaml& entry) {
    const std::string file = file_of(entry);
    const auto or_default = [&](const char* key, const char* usual) {
      return entry.has(key) ? entry.text(key) : std::string(usual);
    };
    EdgeSpec& edge = made_.spec.edges.emplace_back();
    edge.file = file;
    edge.source_column = or_default("src_id_field", "src_id");
    edge.target_column = or_default("dst_id_field", "dst_id");
    if (const auto type = entry.get("etype")) {
      const auto names = type->texts();
      if (names.size() != 3) type->fail("etype has three names", "[user, follow, item]");
      edge.source = plain_name(names[0]);
      edge.relation = plain_name(names[1]);
      edge.target = plain_name(names[2]);
    }
    const TableGlance seen = glance(file);
    const Columns columns = sort_columns(file, seen, {edge.source_column, edge.target_column});
    edge.features.columns = columns.numbers;
    if (columns.masks.any())
      made_.warn(
          fmt::format("{}: {}: masks of edges; a split of edges is files of edges, or ratio, "
                      "in a [[splits]]",
                      file,
                      fmt::join(columns.masks.names(), ", ")));
    if (!columns.label) return;
    set_label(edge.labels, file, seen, fmt::format("edges[{}]", made_.spec.edges.size() - 1));
    edge.labels.file.clear();  // that of the edges
  }

  const FileSet& files_;
  std::string folder_;
  const Yaml& meta_;
  Description& made_;
};

}  // namespace

void describe_dgl_csv(const FileSet& files,
                      const std::string& folder,
                      const Yaml& meta,
                      Description& made) {
  CsvDataset(files, folder, meta, made).run();
}

}  // namespace sluice
