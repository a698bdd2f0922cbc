// What graph.toml's keys mean together: defaults that depend on each other, and contradictions.
#include "prep/import/graph_spec.h"

#include "storage/format/layout.h"

#include <sluice/catalog.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

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
  if (features.choice.dtype == FeatureDType::kInt8 && features.not_finite == NotFinite::kKeep) {
    refuse(where + " features: dtype = \"int8\" cannot keep what is not finite",
           "say dtype = \"f32\", \"f16\" or \"bf16\", or leave not_finite out");
  }
}

void check_nodes(const NodeSpec& node) {
  check_name(node.type, "[[nodes]] type");
  const std::string where = fmt::format("[[nodes]] '{}'", node.type);
  const bool dense = node.ids == IdKind::kDense;
  if (dense && !node.id_list.file.empty()) {
    refuse(fmt::format("{}: id_list is for integer and string ids", where),
           "say ids = \"integer\" or ids = \"string\", or leave it out");
  }
  const bool by_position =
      !node.features.file.empty() || (!node.labels.file.empty() && node.labels.id_column.empty());
  if (!dense && node.id_list.file.empty() && by_position) {
    refuse(fmt::format("{}: the rows of features and labels need an order of ids", where),
           "name the list of ids: id_list = { file = ..., column = ... }; labels may have an "
           "id_column instead");
  }
  if (!dense && node.count != 0) {
    refuse(fmt::format("{}: count is for dense ids", where),
           "integer and string ids are counted by themselves");
  }
  check_features(node.features, where);
  const auto check_file = [&](const std::string& file, bool has_keys, const char* table) {
    if (file.empty() && has_keys)
      refuse(fmt::format("{}: {} has no file", where, table),
             fmt::format("add {} = {{ file = ... }}", table));
  };
  check_file(node.id_list.file, !node.id_list.column.empty(), "id_list");
  check_file(node.features.file, !node.features.columns.empty(), "features");
  check_file(
      node.labels.file, !node.labels.columns.empty() || !node.labels.id_column.empty(), "labels");
}

void check_edges(const EdgeSpec& edge) {
  check_name(edge.relation, "[[edges]] relation");
  if (edge.source == edge.target) return;
  const std::string where = fmt::format("[[edges]] '{}'", edge.relation);
  const std::string hint = fmt::format("it goes from '{}' to '{}'", edge.source, edge.target);
  if (edge.csc.undirected) refuse(where + ": undirected needs one node type at both ends", hint);
  if (edge.csc.self_loops != SelfLoops::kKeep)
    refuse(where + ": self_loops needs one node type at both ends", hint);
}

void check_split(const SplitSpec& split) {
  check_name(split.name, "[[splits]] name");
  const std::string where = fmt::format("[[splits]] '{}'", split.name);
  const bool files = !split.train.empty() || !split.valid.empty() || !split.test.empty();
  if (files && split.by_ratio())
    refuse(where + ": files and ratio exclude each other", "keep one of them");
  if (!files && !split.by_ratio())
    refuse(where + ": neither files nor ratio", "for example ratio = [0.6, 0.2, 0.2]");
  if (files && split.train.empty()) refuse(where + ": there is no train file", "add train = ...");
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

void complete_split(SplitSpec& split, const GraphSpec& spec) {
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
  for (const NodeSpec& node : spec.nodes) check_nodes(node);
  check_distinct(type_names(spec), "node types");
  std::vector<std::string> relations, splits;
  for (EdgeSpec& edge : spec.edges) {
    complete_type(
        edge.source, fmt::format("[[edges]] '{}': source", edge.relation), type_names(spec));
    complete_type(
        edge.target, fmt::format("[[edges]] '{}': target", edge.relation), type_names(spec));
    check_edges(edge);
    relations.push_back(fmt::format("{}__{}__{}", edge.source, edge.relation, edge.target));
  }
  check_distinct(relations, "relations");
  for (SplitSpec& split : spec.splits) {
    complete_split(split, spec);
    check_split(split);
    splits.push_back(split.name);
  }
  check_distinct(splits, "splits");
}

}  // namespace sluice
