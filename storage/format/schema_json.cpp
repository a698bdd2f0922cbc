#include "storage/format/schema_json.h"

#include "storage/format/manifest.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace sluice {
namespace {

Json scaling_json(const FeatureScaling& scaling) {
  Json json = {{"scale", scaling.scale}, {"over", scaling.over}, {"rows", scaling.rows}};
  if (!scaling.columns.empty()) json["columns"] = scaling.columns;
  if (!scaling.shift.empty()) {
    json["shift"] = scaling.shift;
    json["divisor"] = scaling.divisor;
  }
  if (!scaling.fill.empty()) {
    json["missing"] = scaling.missing;
    json["fill"] = scaling.fill;
  }
  return json;
}

Json features_json(const std::vector<FeatureSchema>& tables) {
  Json all = Json::array();
  for (const FeatureSchema& table : tables) {
    all.push_back({{"name", table.name},
                   {"dtype", feature_dtype_name(table.dtype)},
                   {"rows", table.rows},
                   {"dim", table.dim},
                   {"rows_per_page", Manifest::layout_of(table).rows_per_page}});
    if (table.scaling) all.back()["scaling"] = scaling_json(*table.scaling);
    if (table.sparse()) all.back()["entries"] = table.entries;
  }
  return all;
}

Json labels_json(const std::optional<LabelSchema>& labels) {
  if (!labels) return nullptr;
  Json json = {{"kind", to_string(labels->kind)}, {"width", labels->width}};
  if (!labels->names.empty()) json["names"] = labels->names;
  return json;
}

Json splits_json(const std::vector<SplitSchema>& all) {
  Json splits = Json::array();
  for (const SplitSchema& split : all) {
    splits.push_back({{"name", split.name},
                      {"node_type", split.node_type},
                      {"train", split.train},
                      {"valid", split.valid},
                      {"test", split.test}});
  }
  return splits;
}

Json edge_splits_json(const std::vector<EdgeSplitSchema>& all) {
  Json splits = Json::array();
  for (const EdgeSplitSchema& split : all) {
    splits.push_back({{"name", split.name},
                      {"relation", split.relation},
                      {"train", split.train},
                      {"valid", split.valid},
                      {"test", split.test}});
  }
  return splits;
}

Json graphs_json(const GraphCollectionSchema& graphs) {
  return {{"node_type", graphs.node_type},
          {"count", graphs.count},
          {"labels", labels_json(graphs.labels)},
          {"splits", splits_json(graphs.splits)}};
}

std::string get_name(const Json& object, const char* key) {
  auto name = get<std::string>(object, key);
  if (const std::string problem = name_problem(name); !problem.empty()) {
    throw Malformed{fmt::format("'{}' is no name: '{}' {}", key, name, problem)};
  }
  return name;
}

template <class Enum>
Enum get_enum(const Json& object, const char* key, std::initializer_list<Enum> values) {
  const auto name = get<std::string>(object, key);
  for (const Enum value : values) {
    if (to_string(value) == name) return value;
  }
  throw Malformed{fmt::format("key '{}' has the unknown value '{}'", key, name)};
}

std::vector<double> read_numbers(const Json& object, const char* key, std::uint32_t dim) {
  auto numbers = get<std::vector<double>>(object, key);
  if (numbers.size() != dim)
    throw Malformed{fmt::format("{} numbers of '{}' for {} columns", numbers.size(), key, dim)};
  return numbers;
}

FeatureScaling read_scaling(const Json& object, std::uint32_t dim) {
  FeatureScaling scaling;
  scaling.scale = get<std::string>(object, "scale");
  scaling.over = get<std::string>(object, "over");
  scaling.rows = get<std::uint64_t>(object, "rows");
  if (object.contains("columns")) {
    scaling.columns = get<std::vector<std::string>>(object, "columns");
    if (scaling.columns.size() != dim) throw Malformed{"'columns' are not as many as 'dim' says"};
  }
  if (object.contains("shift")) {
    scaling.shift = read_numbers(object, "shift", dim);
    scaling.divisor = read_numbers(object, "divisor", dim);
    if (std::count(scaling.divisor.begin(), scaling.divisor.end(), 0.0) != 0)
      throw Malformed{"a 'divisor' is 0"};
  }
  if (object.contains("fill")) {
    scaling.missing = get<std::string>(object, "missing");
    scaling.fill = read_numbers(object, "fill", dim);
  }
  return scaling;
}

std::uint32_t read_entries(const Json& object, const FeatureSchema& table) {
  const auto entries = get<std::uint32_t>(object, "entries");
  if (entries == 0 || entries > table.dim)
    throw Malformed{fmt::format("'entries' is {} of {} columns", entries, table.dim)};
  if (table.dtype == DType::kI8) throw Malformed{"int8 rows have 'entries'"};
  return entries;
}

std::vector<FeatureSchema> read_features(const Json& object) {
  std::vector<FeatureSchema> tables;
  for (const Json& entry : get<Json>(object, "features")) {
    FeatureSchema table;
    table.name = get_name(entry, "name");
    const auto dtype = parse_feature_dtype(get<std::string>(entry, "dtype"));
    if (!dtype) throw Malformed{"key 'dtype' has an unknown value"};
    table.dtype = *dtype;
    table.rows = get<std::uint64_t>(entry, "rows");
    table.dim = get<std::uint32_t>(entry, "dim");
    if (table.dim > kMaxFeatureDim)
      throw Malformed{fmt::format("'dim' is larger than {}", kMaxFeatureDim)};
    if (entry.contains("entries")) table.entries = read_entries(entry, table);
    if (get<std::uint32_t>(entry, "rows_per_page") != Manifest::layout_of(table).rows_per_page) {
      throw Malformed{"'rows_per_page' does not follow from dtype and dim"};
    }
    if (entry.contains("scaling"))
      table.scaling = read_scaling(get<Json>(entry, "scaling"), table.dim);
    tables.push_back(std::move(table));
  }
  return tables;
}

std::optional<LabelSchema> read_labels(const Json& object) {
  const auto entry = get<Json>(object, "labels");
  if (entry.is_null()) return std::nullopt;
  LabelSchema labels;
  labels.kind =
      get_enum(entry, "kind", {LabelKind::kClass, LabelKind::kMultiLabel, LabelKind::kRegression});
  labels.width = get<std::uint32_t>(entry, "width");
  if (entry.contains("names")) {
    labels.names = get<std::vector<std::string>>(entry, "names");
    if (labels.names.size() != labels.width)
      throw Malformed{fmt::format("{} 'names' for {} classes", labels.names.size(), labels.width)};
  }
  return labels;
}

std::vector<SplitSchema> read_splits(const Json& object, bool of_nodes) {
  std::vector<SplitSchema> splits;
  for (const Json& entry : get<Json>(object, "splits")) {
    SplitSchema split;
    split.name = get_name(entry, "name");
    if (of_nodes) split.node_type = get_name(entry, "node_type");
    split.train = get<std::uint64_t>(entry, "train");
    split.valid = get<std::uint64_t>(entry, "valid");
    split.test = get<std::uint64_t>(entry, "test");
    splits.push_back(std::move(split));
  }
  return splits;
}

std::vector<EdgeSplitSchema> read_edge_splits(const Json& object) {
  std::vector<EdgeSplitSchema> splits;
  for (const Json& entry : get<Json>(object, "edge_splits")) {
    splits.push_back({get_name(entry, "name"),
                      get<std::string>(entry, "relation"),
                      get<std::uint64_t>(entry, "train"),
                      get<std::uint64_t>(entry, "valid"),
                      get<std::uint64_t>(entry, "test")});
  }
  return splits;
}

// A log's three numbers of each are fewer than 2^63 bytes, and so are edges with appended ones:
// what is computed of these counts does not wrap around, whoever wrote the manifest.
constexpr std::uint64_t kMostEdges = std::uint64_t{1} << 58;

std::uint64_t read_edges(const Json& object, const char* key) {
  const auto edges = get<std::uint64_t>(object, key);
  if (edges > kMostEdges)
    throw Malformed{fmt::format("'{}' is {} edges, and no file holds so many", key, edges)};
  return edges;
}

std::optional<std::uint64_t> read_listed(const Json& object, const char* key, std::uint64_t nodes) {
  if (!object.contains(key)) return std::nullopt;
  const auto listed = get<std::uint64_t>(object, key);
  if (listed > nodes) throw Malformed{fmt::format("'{}' is {} of {} nodes", key, listed, nodes)};
  return listed;
}

std::string read_rule(const Json& object,
                      const char* key,
                      std::initializer_list<std::string_view> rules) {
  if (!object.contains(key)) return {};
  auto rule = get<std::string>(object, key);
  if (std::ranges::find(rules, rule) == rules.end())
    throw Malformed{fmt::format("key '{}' has the unknown value '{}'", key, rule)};
  return rule;
}

GraphCollectionSchema read_graphs(const Json& entry) {
  GraphCollectionSchema graphs;
  graphs.node_type = get_name(entry, "node_type");
  graphs.count = get<std::uint64_t>(entry, "count");
  graphs.labels = read_labels(entry);
  graphs.splits = read_splits(entry, false);
  return graphs;
}

}  // namespace

Json schema_to_json(const GraphSchema& schema) {
  Json nodes = Json::array();
  for (const NodeTypeSchema& node : schema.nodes) {
    nodes.push_back({{"type", node.name},
                     {"count", node.count},
                     {"ids", to_string(node.ids)},
                     {"features", features_json(node.features)},
                     {"labels", labels_json(node.labels)},
                     {"times", node.has_times}});
  }
  Json edges = Json::array();
  for (const RelationSchema& relation : schema.relations) {
    edges.push_back({{"source", relation.source},
                     {"relation", relation.name},
                     {"target", relation.target},
                     {"count", relation.edges},
                     {"edge_ids", relation.has_edge_ids},
                     {"edge_id_bound", relation.edge_id_bound},
                     {"times", relation.has_times},
                     {"features", features_json(relation.features)},
                     {"labels", labels_json(relation.labels)}});
    // A key that older readers may ignore: in-edges are whole without it.
    if (relation.has_out_edges) edges.back()["out_edges"] = true;
    if (relation.has_weights) edges.back()["weights"] = true;
    if (!relation.title.empty()) edges.back()["title"] = relation.title;
    if (!relation.self_loops.empty()) edges.back()["self_loops"] = relation.self_loops;
    if (!relation.duplicates.empty()) edges.back()["duplicates"] = relation.duplicates;
    if (relation.listed_targets) edges.back()["listed_targets"] = *relation.listed_targets;
    if (relation.listed_sources) edges.back()["listed_sources"] = *relation.listed_sources;
    if (relation.appended != 0) {
      edges.back()["appended"] = relation.appended;
      edges.back()["appended_id_bound"] = relation.appended_id_bound;
    }
  }
  Json graph = {{"nodes", std::move(nodes)},
                {"edges", std::move(edges)},
                {"splits", splits_json(schema.splits)}};
  if (!schema.edge_splits.empty()) graph["edge_splits"] = edge_splits_json(schema.edge_splits);
  if (schema.graphs) graph["graphs"] = graphs_json(*schema.graphs);
  if (schema.partitions) {
    graph["partitions"] = {{"node_type", schema.partitions->node_type},
                           {"parts", schema.partitions->parts},
                           {"frames", schema.partitions->frames}};
  }
  return graph;
}

GraphSchema schema_from_json(const Json& object) {
  GraphSchema schema;
  for (const Json& entry : get<Json>(object, "nodes")) {
    NodeTypeSchema node;
    node.name = get_name(entry, "type");
    node.count = get<std::uint64_t>(entry, "count");
    node.ids = get_enum(entry, "ids", {IdKind::kDense, IdKind::kInteger, IdKind::kString});
    node.features = read_features(entry);
    node.labels = read_labels(entry);
    node.has_times = get<bool>(entry, "times");
    if (schema.node_type(node.name) != nullptr)
      throw Malformed{fmt::format("node type '{}' stands twice", node.name)};
    schema.nodes.push_back(std::move(node));
  }
  for (const Json& entry : get<Json>(object, "edges")) {
    RelationSchema relation;
    relation.source = get_name(entry, "source");
    relation.name = get_name(entry, "relation");
    relation.target = get_name(entry, "target");
    relation.edges = read_edges(entry, "count");
    relation.has_edge_ids = get<bool>(entry, "edge_ids");
    relation.edge_id_bound = get<std::uint64_t>(entry, "edge_id_bound");
    relation.has_times = get<bool>(entry, "times");
    if (entry.contains("appended")) {
      relation.appended = read_edges(entry, "appended");
      relation.appended_id_bound = get<std::uint64_t>(entry, "appended_id_bound");
    }
    relation.has_out_edges = entry.contains("out_edges") && get<bool>(entry, "out_edges");
    relation.has_weights = entry.contains("weights") && get<bool>(entry, "weights");
    if (entry.contains("title")) relation.title = get<std::string>(entry, "title");
    relation.self_loops = read_rule(entry, "self_loops", {"drop", "add"});
    relation.duplicates = read_rule(entry, "duplicates", {"drop", "error"});
    relation.features = read_features(entry);
    relation.labels = read_labels(entry);
    for (const std::string& end : {relation.source, relation.target}) {
      if (schema.node_type(end) == nullptr)
        throw Malformed{fmt::format("an edge names the unknown node type '{}'", end)};
    }
    relation.listed_targets =
        read_listed(entry, "listed_targets", schema.node_type(relation.target)->count);
    relation.listed_sources =
        read_listed(entry, "listed_sources", schema.node_type(relation.source)->count);
    if (schema.relation(relation.key()) != nullptr)
      throw Malformed{fmt::format("relation '{}' stands twice", relation.key())};
    schema.relations.push_back(std::move(relation));
  }
  schema.splits = read_splits(object, true);
  if (object.contains("edge_splits")) schema.edge_splits = read_edge_splits(object);
  if (object.contains("graphs")) {
    schema.graphs = read_graphs(get<Json>(object, "graphs"));
    if (schema.node_type(schema.graphs->node_type) == nullptr)
      throw Malformed{"'graphs' names an unknown node type"};
  }
  if (object.contains("partitions")) {
    const auto entry = get<Json>(object, "partitions");
    schema.partitions = PartitionSchema{get<std::string>(entry, "node_type"),
                                        get<std::uint64_t>(entry, "parts"),
                                        get<std::uint64_t>(entry, "frames")};
  }
  return schema;
}

}  // namespace sluice
