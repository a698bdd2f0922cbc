// DGL GraphBolt's OnDiskDataset.
#include "prep/layout/dgl_parts.h"
#include "prep/layout/glance.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace sluice {
namespace {

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class GraphBolt {
 public:
  GraphBolt(const FileSet& files, const std::string& folder, const Yaml& meta, Description& made)
      : files_(files), folder_(folder), meta_(meta), made_(made) {}

  void run() {
    made_.set_format("csv", "header = \"no\"");
    const Yaml graph = *meta_.get("graph");
    for (const Yaml& entry : graph.list("nodes")) {
      NodeSpec& node = made_.spec.nodes.emplace_back();
      if (entry.has("type")) node.type = plain_name(entry.text("type"));
      node.count = entry.integer("num").value_or(0);
    }
    for (const Yaml& entry : graph.list("edges")) add_edges(entry);
    if (made_.spec.edges.empty()) graph.fail("graph has no edges", "edges: a list of files");
    if (graph.has("feature_data"))
      made_.warn(
          "graph.feature_data: features that sampling looks at; those of feature_data are "
          "imported");
    for (const Yaml& entry : meta_.list("feature_data")) add_features(entry);
    for (const Yaml& entry : meta_.list("tasks")) add_task(entry);
  }

 private:
  /// The file that an entry names, where it can be read; says so where it cannot.
  std::optional<std::string> file_of(const Yaml& entry, const std::string& what) {
    std::string name = folder_ + entry.required("path");
    const std::string format = entry.text("format");
    if (format == "torch" || files_.format_of(name).empty()) {
      made_.warn(
          fmt::format("{}: {} in the format {} is not read; numpy.save('FILE.npy', "
                      "torch.load(...).numpy()), and say format: numpy",
                      name,
                      what,
                      format));
      return std::nullopt;
    }
    if (!files_.has(name))
      entry.fail(fmt::format("there is no file {}", name), "paths are relative to the YAML file");
    return name;
  }

  static bool is_array(const std::string& file) {
    return file.ends_with(".npy") || file.ends_with(".npz");
  }

  /// "user:follow:item" as the ends and the name of a relation.
  static void set_ends(EdgeSpec& edge, const Yaml& entry) {
    const std::string type = entry.text("type");
    if (type.empty()) return;
    const auto first = type.find(':'), last = type.rfind(':');
    if (first == std::string::npos || first == last)
      entry.fail(fmt::format("the edges' type '{}' has no three parts", type),
                 "such as user:follow:item");
    edge.source = plain_name(type.substr(0, first));
    edge.relation = plain_name(type.substr(first + 1, last - first - 1));
    edge.target = plain_name(type.substr(last + 1));
  }

  void add_edges(const Yaml& entry) {
    EdgeSpec edge;
    set_ends(edge, entry);
    const auto file = file_of(entry, "edges");
    if (!file) entry.fail("these edges cannot be read", made_.warnings.back());
    edge.file = *file;
    // GraphBolt's arrays of edges are [2, E], those of seeds [N, 2].
    if (is_array(*file)) edge.pairs = PairsChoice::kColumns;
    made_.spec.edges.push_back(edge);
  }

  NodeSpec* find_node(const Yaml& entry) {
    const std::string type = entry.has("type") ? plain_name(entry.text("type")) : "";
    auto& nodes = made_.spec.nodes;
    if (type.empty() && nodes.empty()) return &nodes.emplace_back();
    if (type.empty()) return nodes.size() == 1 ? &nodes.front() : nullptr;
    const auto found = std::find_if(
        nodes.begin(), nodes.end(), [&](const NodeSpec& node) { return node.type == type; });
    return found == nodes.end() ? nullptr : &*found;
  }

  EdgeSpec* find_edge(const Yaml& entry) {
    auto& edges = made_.spec.edges;
    EdgeSpec wanted;
    set_ends(wanted, entry);
    if (!entry.has("type")) return edges.size() == 1 ? &edges.front() : nullptr;
    const auto found = std::find_if(edges.begin(), edges.end(), [&](const EdgeSpec& edge) {
      return edge.source == wanted.source && edge.relation == wanted.relation &&
             edge.target == wanted.target;
    });
    return found == edges.end() ? nullptr : &*found;
  }

  void add_features(const Yaml& entry) {
    const std::string domain = entry.text("domain"), name = entry.text("name");
    const auto file = file_of(entry, fmt::format("the feature {}", name));
    if (!file) return;
    if (domain == "node") {
      NodeSpec* node = find_node(entry);
      if (node == nullptr) entry.fail("no node type is called so", "graph.nodes names them");
      if (is_one_of(name, {"label", "labels"}) && take(node->labels.file, *file))
        return guess_kind(node->labels, fmt::format("nodes[{}]", node - made_.spec.nodes.data()));
      if (is_one_of(name, {"year", "time", "timestamp"}) && take(node->times.file, *file)) return;
      if (take(node->features.file, *file)) return;
    } else if (domain == "edge") {
      EdgeSpec* edge = find_edge(entry);
      if (edge == nullptr) entry.fail("no edges are called so", "graph.edges names them");
      if (is_one_of(name, {"label", "labels"}) && take(edge->labels.file, *file))
        return guess_kind(edge->labels, fmt::format("edges[{}]", edge - made_.spec.edges.data()));
      if (take(edge->features.file, *file)) return;
    }
    made_.warn(fmt::format("{}: the feature {} of {}s; nodes and edges have one table of features",
                           *file,
                           name,
                           domain));
  }

  // Classes may be stored as floats.
  void guess_kind(LabelSpec& labels, const std::string& where) {
    const TableGlance seen = glance_at(files_, labels.file, "auto", made_.spec.formats);
    if (seen.columns.size() == 1 && !seen.columns.front().integers)
      made_.comment(where + ".labels.kind", guess_labels(seen, labels));
  }

  static bool take(std::string& place, const std::string& file) {
    if (!place.empty()) return false;
    place = file;
    return true;
  }

  void add_task(const Yaml& task) {
    const std::string name = task.has("name") ? plain_name(task.text("name")) : "default";
    const bool links = name.find("link") != std::string::npos;
    for (const auto& [key, part] :
         {std::pair{"train_set", 0}, {"validation_set", 1}, {"test_set", 2}})
      for (const Yaml& set : task.list(key)) add_set(set, name, part, links);
    const auto classes = task.integer("num_classes");
    for (NodeSpec& node : made_.spec.nodes)
      if (classes && !links && (!node.labels.file.empty() || of_seeds_.contains(node.type)))
        node.labels.classes = *classes;
  }

  void add_set(const Yaml& set, const std::string& name, int part, bool links) {
    for (const Yaml& data : set.list("data")) {
      const std::string what = data.text("name");
      const auto file = file_of(data, what);
      if (!file) continue;
      if (is_one_of(what, {"seeds", "seed_nodes", "node_pairs"})) {
        SplitSpec& split = split_of(set, name, links || what == "node_pairs");
        (part == 0 ? split.train : part == 1 ? split.valid : split.test) = *file;
        if (split.of == SplitOf::kEdges && is_array(*file)) split.pairs = PairsChoice::kRows;
      } else if (what == "labels") {
        add_labels(set, name, part, links, *file);
      } else {
        made_.warn(fmt::format("{}: {} of a split have no place in a graph.toml", *file, what));
      }
    }
  }

  /// Labels of a set's seeds, where feature_data has none of all nodes.
  void add_labels(
      const Yaml& set, const std::string& name, int part, bool links, const std::string& file) {
    const NodeSpec* node = links ? nullptr : find_node(set);
    if (node != nullptr && !node->labels.file.empty()) {
      made_.comments.head.push_back(
          fmt::format("{} is not needed: feature_data has the labels of all nodes.", file));
      return;
    }
    const auto [task, is_new] =
        of_seeds_.emplace(node == nullptr ? "" : node->type, links ? "" : name);
    if (node == nullptr || task->second != name) {
      if (node == nullptr) of_seeds_.erase("");
      return made_.warn(fmt::format(
          "{}: {}",
          file,
          node == nullptr
              ? "labels of seeds that are no nodes have no place in a graph.toml"
              : fmt::format("nodes have the labels of one task, {} here", task->second)));
    }
    SplitSpec& split = split_of(set, name, false);
    (part == 0 ? split.train_labels : part == 1 ? split.valid_labels : split.test_labels) = file;
  }

  /// The split of a task and a type.
  SplitSpec& split_of(const Yaml& set, const std::string& name, bool links) {
    const std::string type = set.has("type") ? set.text("type") : "";
    SplitSpec wanted;
    wanted.name = name;
    wanted.of = links ? SplitOf::kEdges : SplitOf::kNodes;
    EdgeSpec ends;
    if (links && !type.empty()) set_ends(ends, set);
    if (links && !type.empty()) wanted.relation = ends.relation;
    if (!links && !type.empty()) wanted.node_type = plain_name(type);
    if (!type.empty() && types_of(name) > 1)
      wanted.name = name + "_" + plain_name(links ? ends.relation : type);
    auto& splits = made_.spec.splits;
    const auto found = std::find_if(splits.begin(), splits.end(), [&](const SplitSpec& split) {
      return split.name == wanted.name;
    });
    return found != splits.end() ? *found : splits.emplace_back(wanted);
  }

  /// How many types the sets of a task are of.
  std::size_t types_of(const std::string& name) const {
    std::vector<std::string> types;
    for (const Yaml& task : meta_.list("tasks")) {
      if ((task.has("name") ? plain_name(task.text("name")) : "default") != name) continue;
      for (const char* key : {"train_set", "validation_set", "test_set"})
        for (const Yaml& set : task.list(key)) types.push_back(set.text("type"));
    }
    std::sort(types.begin(), types.end());
    return static_cast<std::size_t>(std::unique(types.begin(), types.end()) - types.begin());
  }

  const FileSet& files_;
  std::string folder_;
  const Yaml& meta_;
  Description& made_;
  std::map<std::string, std::string>
      of_seeds_;  ///< node types with labels of seeds, and their task
};

}  // namespace

void describe_graphbolt(const FileSet& files,
                        const std::string& folder,
                        const Yaml& meta,
                        Description& made) {
  GraphBolt(files, folder, meta, made).run();
}

}  // namespace sluice
