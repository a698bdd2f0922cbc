// What graph.toml's keys mean together: defaults that depend on each other, and contradictions.
#include "prep/import/graph_spec.h"

#include "storage/format/layout.h"

#include <sluice/catalog.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace sluice {
namespace {

[[noreturn]] void refuse(std::string message, std::string hint) {
  throw Error(ErrorCode::kUsage, std::move(message), std::move(hint));
}

void check_name(const std::string& name, const std::string& key) {
  const std::string problem = name_problem(name);
  if (!problem.empty())
    refuse(fmt::format("{} = \"{}\": the name {}", key, name, problem),
           "names become folders of the dataset");
}

std::vector<std::string> type_names(const GraphSpec& spec) {
  std::vector<std::string> names;
  names.reserve(spec.nodes.size());
  for (const NodeSpec& node : spec.nodes) names.push_back(node.type);
  return names;
}

void complete_type(std::string& type,
                   const std::string& key,
                   const std::vector<std::string>& known) {
  if (type.empty() && known.size() == 1) type = known.front();
  if (type.empty()) {
    refuse(fmt::format("{} is missing, and there are {} node types", key, known.size()),
           fmt::format("one of: {}", fmt::join(known, ", ")));
  }
  if (std::find(known.begin(), known.end(), type) != known.end()) return;
  const Error unknown = unknown_name("node type", type, known);
  refuse(fmt::format("{}: {}", key, unknown.message()), unknown.hint());
}

void check_features(const FeatureSpec& features, const std::string& where) {
  features.choice.check(where + " features");
  if (features.choice.dtype == FeatureDType::kInt8 &&
      features.not_finite == NotFiniteValues::kKeep) {
    refuse(where + " features: dtype = \"int8\" cannot keep what is not finite",
           "say dtype = \"f32\", \"f16\" or \"bf16\", or leave not_finite out");
  }
  if (features.storage != FeatureStorage::kSparse) return;
  if (features.choice.dtype == FeatureDType::kInt8)
    refuse(where + " features: storage = \"sparse\" and dtype = \"int8\" exclude each other",
           "say dtype = \"f16\" or \"bf16\", or leave storage out");
  if (features.scaling.any())
    refuse(where + " features: storage = \"sparse\", and scale or missing moves the zeros",
           "leave one of them out");
}

// -1 says "none" wherever classes are numbers; of graphs it may be a class, as in TU's data sets.
void complete_labels(LabelSpec& labels) {
  if (labels.kind != LabelKindChoice::kName || !labels.none.empty()) return;
  labels.none = {"-1", "-1.0"};  // as pandas writes it where others are missing
  labels.minus_one_is_none = true;
}

void check_unknown_ids(const NodeSpec& node, const std::string& where) {
  if (node.unknown_ids != UnknownIds::kCreate) return;
  const bool labels = !node.labels.file.empty() && node.labels.id_column.empty();
  if (node.features.file.empty() && node.times.file.empty() && !labels) return;
  refuse(where +
             ": a node that unknown_ids = \"create\" makes has no row of features, times or labels",
         "say unknown_ids = \"skip\", or give labels an id_column");
}

void check_node_names(const NodeSpec& node, const std::string& where) {
  if (node.names.file.empty()) return;
  if (node.ids != IdKind::kDense)
    refuse(where + ": names are of dense ids",
           "integer and string ids are names already: leave names out");
  if (node.unknown_ids == UnknownIds::kCreate)
    refuse(where + ": a node that unknown_ids = \"create\" makes has no name",
           "say unknown_ids = \"skip\", or leave names out");
}

void check_nodes(const NodeSpec& node) {
  check_name(node.type, "[[nodes]] type");
  const std::string where = fmt::format("[[nodes]] '{}'", node.type);
  const bool dense = node.ids == IdKind::kDense;
  if (dense && !node.id_list.file.empty()) {
    refuse(fmt::format("{}: id_list is for integer and string ids", where),
           "say ids = \"integer\" or ids = \"string\", or leave it out");
  }
  const auto in_order = [](const auto& rows) {
    return !rows.file.empty() && rows.id_column.empty();
  };
  const bool by_position = in_order(node.features) || in_order(node.times) || in_order(node.labels);
  if (!dense && node.id_list.file.empty() && by_position) {
    refuse(
        fmt::format("{}: the rows of features and labels need an order of ids", where),
        "name the list of ids: id_list = { file = ..., column = ... }; or the column of ids beside "
        "them: id_column");
  }
  if (!dense && node.count != 0) {
    refuse(fmt::format("{}: count is for dense ids", where),
           "integer and string ids are counted by themselves");
  }
  if (!dense && node.first_id != 0)
    refuse(where + ": first_id is for dense ids", "leave it out: other ids are kept as they are");
  check_unknown_ids(node, where);
  check_node_names(node, where);
  check_features(node.features, where);
  const auto check_file = [&](const std::string& file, bool has_keys, const char* table) {
    if (file.empty() && has_keys)
      refuse(fmt::format("{}: {} has no file", where, table),
             fmt::format("add {} = {{ file = ... }}", table));
  };
  check_file(node.id_list.file, !node.id_list.column.empty(), "id_list");
  check_file(
      node.names.file, !node.names.column.empty() || !node.names.number_column.empty(), "names");
  check_file(node.features.file,
             !node.features.columns.empty() || !node.features.id_column.empty(),
             "features");
  if (node.times.unit != TickUnit::kStored && node.times.scale != 0)
    refuse(where + ": times.scale and times.unit exclude each other",
           "times.scale is for numbers, times.unit for dates");
  check_file(node.times.file, !node.times.column.empty() || !node.times.id_column.empty(), "times");
  check_file(
      node.labels.file, !node.labels.columns.empty() || !node.labels.id_column.empty(), "labels");
}

void check_edges(const EdgeSpec& edge) {
  check_name(edge.relation, "[[edges]] relation");
  if (!edge.reverse.empty()) check_name(edge.reverse, "[[edges]] reverse");
  const std::string where = fmt::format("[[edges]] '{}'", edge.relation);
  if (!edge.reverse.empty() && edge.csc.undirected)
    refuse(where + ": reverse and undirected exclude each other",
           "undirected edges stand both ways already");
  if (edge.has_attributes() && edge.csc.self_loops == SelfLoops::kAdd)
    refuse(where + ": self_loops = \"add\" makes edges without times, weights, features and labels",
           "leave self_loops out, or those columns");
  if (edge.time_unit != TickUnit::kStored && edge.time_scale != 0)
    refuse(where + ": time_scale and time_unit exclude each other",
           "time_scale is for numbers, time_unit for dates");
  const bool typed = !edge.type_column.empty();
  if (typed && edge.types == EdgeTypes::kLabels && edge.has_labels())
    refuse(where + ": types = \"labels\" and labels exclude each other", "keep one of them");
  if (typed && edge.types == EdgeTypes::kRelations && (edge.has_features() || edge.has_labels()))
    refuse(where + ": features and labels need one relation, and each type is one",
           "say types = \"labels\", or split the file by type");
  const NamesSpec& names = edge.type_names;
  if (names.file.empty() && !(names.column.empty() && names.number_column.empty()))
    refuse(where + ": type_names has no file", "add type_names = { file = ... }");
  if (!typed && !names.file.empty())
    refuse(where + ": type_names without a type_column",
           "name the column of the types' numbers: type_column = ...");
  if (!edge.labels.id_column.empty())
    refuse(where + ": labels of edges have no id_column", "they are one row an edge");
  if (!edge.features.id_column.empty())
    refuse(where + ": features of edges have no id_column", "they are one row an edge");
  check_features(edge.features, where);
  if (edge.source == edge.target) return;
  const std::string hint = fmt::format("it goes from '{}' to '{}'", edge.source, edge.target);
  if (edge.csc.undirected) refuse(where + ": undirected needs one node type at both ends", hint);
  if (edge.csc.self_loops != SelfLoops::kKeep)
    refuse(where + ": self_loops needs one node type at both ends", hint);
}

// What an [[edges]] leaves to its defaults.
void complete_edge(EdgeSpec& edge) {
  if (edge.features.file.empty() && edge.has_features()) {
    edge.features.file = edge.file;
    edge.features.format = edge.format;
  }
  if (edge.labels.file.empty() && edge.has_labels()) {
    edge.labels.file = edge.file;
    edge.labels.format = edge.format;
  }
  edge.csc.edge_ids = edge.csc.edge_ids || edge.has_attributes();
}

// A column for each part, and ids beside masks.
void check_split_columns(const SplitSpec& split, const std::string& where) {
  const bool columns = !split.columns.empty(), ids = !split.id_column.empty();
  const std::string key = columns ? "columns" : "id_column";
  if (!columns && !ids) return;
  if (split.of == SplitOf::kEdges)
    refuse(fmt::format("{}: {} is of nodes and graphs", where, key),
           "files of edges have source_column and target_column");
  if (split.by_ratio())
    refuse(fmt::format("{}: {} is of files, and ratio reads none", where, key),
           "leave one of them out");
  if (ids && split.has_labels())
    refuse(where + ": id_column is of masks, and labels stand beside ids",
           "give files of ids: numpy.flatnonzero(mask) has them");
  if (!columns) return;
  if (!split.column.empty())
    refuse(where + ": column and columns exclude each other", "keep one of them");
  std::vector<std::string> parts;
  for (const SplitPart& part : split.parts()) parts.emplace_back(part.name);
  if (parts.size() == split.columns.size()) return;
  refuse(fmt::format("{}: columns names {}, and the split has {} part{}: {}",
                     where,
                     split.columns.size(),
                     parts.size(),
                     parts.size() == 1 ? "" : "s",
                     fmt::join(parts, ", ")),
         "columns has one column for each part, in the order train, valid, test");
}

void check_split(const SplitSpec& split) {
  check_name(split.name, "[[splits]] name");
  const std::string where = fmt::format("[[splits]] '{}'", split.name);
  const bool files = !split.train.empty() || !split.valid.empty() || !split.test.empty();
  if (files && split.by_ratio())
    refuse(where + ": files and ratio exclude each other", "keep one of them");
  if (!files && !split.by_ratio())
    refuse(where + ": neither files nor ratio", "for example ratio = [0.6, 0.2, 0.2]");
  if (files && split.train.empty() && split.of != SplitOf::kEdges)
    refuse(where + ": there is no train file", "add train = ...");
  for (const auto& [name, ids, labels] : {std::tuple{"train", &split.train, &split.train_labels},
                                          {"valid", &split.valid, &split.valid_labels},
                                          {"test", &split.test, &split.test_labels}}) {
    if (labels->empty()) continue;
    if (split.of != SplitOf::kNodes)
      refuse(fmt::format("{}: {}_labels are of nodes", where, name), "leave it out");
    if (ids->empty())
      refuse(fmt::format("{0}: {1}_labels without {1}", where, name),
             fmt::format("name the file of the ids: {} = ...", name));
  }
  check_split_columns(split, where);
  if (!split.by_ratio()) return;
  if (split.ratio.size() != 3)
    refuse(where + ": ratio needs three shares", "for example ratio = [0.6, 0.2, 0.2]");
  const double sum = std::accumulate(split.ratio.begin(), split.ratio.end(), 0.0);
  if (sum > 1.0 + 1e-9)
    refuse(fmt::format("{}: the shares of ratio sum to {}", where, sum),
           "they may sum to 1 at most");
  if (split.ratio[0] == 0)
    refuse(where + ": the train share is 0", "for example ratio = [0.6, 0.2, 0.2]");
}

void complete_edge_split(SplitSpec& split, GraphSpec& spec) {
  const std::string where = fmt::format("[[splits]] '{}': relation", split.name);
  std::vector<std::string> relations;
  relations.reserve(spec.edges.size());
  for (const EdgeSpec& edge : spec.edges) relations.push_back(edge.relation);
  if (split.relation.empty() && relations.size() == 1) split.relation = relations.front();
  const auto found = std::find(relations.begin(), relations.end(), split.relation);
  if (found == relations.end())
    refuse(fmt::format("{} = \"{}\" is none of the [[edges]]", where, split.relation),
           fmt::format("one of: {}", fmt::join(relations, ", ")));
  EdgeSpec& edge = spec.edges[static_cast<std::size_t>(found - relations.begin())];
  if (split.by_ratio()) {
    if (!edge.type_column.empty() && edge.types == EdgeTypes::kRelations)
      refuse(fmt::format("[[splits]] '{}': ratio needs one relation, and each type is one",
                         split.name),
             "say types = \"labels\" in the [[edges]], or give files");
    if (split.order == SplitOrder::kTime && edge.time_column.empty())
      refuse(
          fmt::format("[[splits]] '{}': order = \"time\", and the edges have no times", split.name),
          "add time_column to the [[edges]]");
    edge.csc.edge_ids = true;
    return;
  }
  if (split.source_column.empty()) split.source_column = edge.source_column;
  if (split.target_column.empty()) split.target_column = edge.target_column;
  if (split.type_column.empty()) split.type_column = edge.type_column;
}

// Edges that count nodes within each graph.
void check_edge_sizes(const GraphSpec& spec) {
  const GraphsSpec& graphs = spec.graphs;
  if (graphs.edge_sizes.file.empty()) return;
  const bool one = spec.edges.size() == 1 && spec.edges[0].source == graphs.node_type &&
                   spec.edges[0].target == graphs.node_type;
  if (!one)
    refuse("[graphs] edge_sizes needs one [[edges]], between its own nodes",
           "count the nodes of other edges through all graphs");
  for (const NodeSpec& node : spec.nodes) {
    if (node.type == graphs.node_type && node.ids != IdKind::kDense)
      refuse("[graphs] edge_sizes needs dense ids", "leave ids out, or edge_sizes");
  }
  for (const SplitSpec& split : spec.splits) {
    if (split.of == SplitOf::kEdges && !split.by_ratio())
      refuse(fmt::format("[[splits]] '{}': with [graphs] edge_sizes its edges have no graphs",
                         split.name),
             "say ratio instead of files");
  }
}

void complete_graphs(GraphSpec& spec) {
  GraphsSpec& graphs = spec.graphs;
  const bool splits =
      std::any_of(spec.splits.begin(), spec.splits.end(), [](const SplitSpec& split) {
        return split.of == SplitOf::kGraphs;
      });
  if (!graphs.any()) {
    if (splits || !graphs.labels.file.empty() || !graphs.edge_sizes.file.empty())
      refuse("[graphs] says neither membership nor sizes",
             "for example membership = { file = \"nodes.csv\", column = \"graph\" }");
    return;
  }
  complete_type(graphs.node_type, "[graphs] node_type", type_names(spec));
  if (!graphs.membership.file.empty() && !graphs.sizes.file.empty())
    refuse("[graphs] membership and sizes exclude each other", "keep one of them");
  if (!graphs.labels.id_column.empty())
    refuse("[graphs] labels have no id_column", "they are one row a graph");
  check_edge_sizes(spec);
}

void complete_split(SplitSpec& split, GraphSpec& spec) {
  if (split.of == SplitOf::kEdges) return complete_edge_split(split, spec);
  if (split.of == SplitOf::kGraphs) return;
  std::vector<std::string> labelled;
  for (const NodeSpec& node : spec.nodes) {
    if (!node.labels.file.empty()) labelled.push_back(node.type);
  }
  if (split.node_type.empty() && labelled.size() == 1) split.node_type = labelled.front();
  complete_type(
      split.node_type, fmt::format("[[splits]] '{}': node_type", split.name), type_names(spec));
}

void check_distinct(const std::vector<std::string>& names, const std::string& what) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second)
      refuse(fmt::format("there are two {} '{}'", what, name), "rename one");
  }
}

}  // namespace

void complete_spec(GraphSpec& spec, NoEdges no_edges) {
  if (spec.edges.empty() && no_edges == NoEdges::kRefuse)
    refuse("there are no [[edges]]", "a graph needs at least one relation with a file");
  if (spec.nodes.empty()) spec.nodes.emplace_back();
  for (NodeSpec& node : spec.nodes) {
    check_nodes(node);
    complete_labels(node.labels);
  }
  check_distinct(type_names(spec), "node types");
  std::vector<std::string> relations, splits;
  for (EdgeSpec& edge : spec.edges) {
    complete_type(
        edge.source, fmt::format("[[edges]] '{}': source", edge.relation), type_names(spec));
    complete_type(
        edge.target, fmt::format("[[edges]] '{}': target", edge.relation), type_names(spec));
    check_edges(edge);
    complete_edge(edge);
    complete_labels(edge.labels);
    relations.push_back(fmt::format("{}__{}__{}", edge.source, edge.relation, edge.target));
    if (!edge.reverse.empty())
      relations.push_back(fmt::format("{}__{}__{}", edge.target, edge.reverse, edge.source));
  }
  check_distinct(relations, "relations");
  for (SplitSpec& split : spec.splits) {
    complete_split(split, spec);
    check_split(split);
    splits.push_back(split.name);
  }
  check_distinct(splits, "splits");
  for (const NodeSpec& node : spec.nodes) {
    if (node.labels.file.empty() || !has_split_labels(spec.splits, node.type)) continue;
    refuse(fmt::format("[[nodes]] '{}': labels.file, and labels beside its splits", node.type),
           "keep one of them");
  }
  complete_graphs(spec);
}

}  // namespace sluice
