// The keys of graph.toml. What they mean together is checked in graph_spec_check.cpp.
#include "prep/import/graph_spec.h"
#include "prep/import/time_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr const char* kFormatHelp = "the file's format; auto: by its extension";

void describe_format(Schema& schema, std::string& format) {
  schema.field("format", format).help(kFormatHelp);
}

}  // namespace

void IdFileSpec::describe(Schema& schema) {
  schema.field("file", file)
      .help(
          "a file with one row a node; without one, ids are collected from the edges in order of "
          "first appearance");
  schema.field("column", column).help("its column of ids; empty: the first");
  describe_format(schema, format);
}

void NamesSpec::describe(Schema& schema) {
  schema.field("file", file).help("a file with a name a row, each once");
  schema.field("column", column).help("its column of names; empty: the first");
  schema.field("number_column", number_column)
      .help(
          "its column of the numbers that are called so, each once, without gaps; empty: names "
          "stand in the order of the numbers");
  describe_format(schema, format);
}

void FeatureSpec::describe(Schema& schema) {
  schema.field("file", file)
      .help(
          "one row a node (edge), in the order of the ids: .npy of [N, D], columns, or a sparse "
          "matrix of SciPy's (.npz, or format csr)");
  schema.field("columns", columns)
      .help("of a file of columns: those to take, in this order; empty: all");
  schema.field("id_column", id_column)
      .help(
          "of a file of columns: the node's id; rows may then stand in any order, and each node "
          "needs "
          "one. They are gathered in memory; empty: rows stand in the order of the ids");
  describe_format(schema, format);
  choice.describe(schema);
  schema
      .choice<FeatureStorage>(
          "storage",
          storage,
          {{"auto",
            FeatureStorage::kAuto,
            "sparse where the file has a sparse matrix, and that takes less room"},
           {"dense", FeatureStorage::kDense, "all elements of a row"},
           {"sparse",
            FeatureStorage::kSparse,
            "those that are not 0, with room for as many as the fullest row has; not of int8, nor "
            "of columns that are scaled or filled"}})
      .help("how rows lie on the disk; mini-batches have them dense");
  schema.field("seed", seed).at_least(0).help("of stochastic rounding");
  schema
      .choice<NotFiniteValues>(
          "not_finite",
          not_finite,
          {{"refuse",
            NotFiniteValues::kRefuse,
            "NaN and infinity are errors: they would poison training"},
           {"keep",
            NotFiniteValues::kKeep,
            "take them as they are, unless dtype is int8; an empty CSV cell is NaN (but see "
            "missing)"}})
      .help("what to do with values that are not finite");
  scaling.describe(schema);
}

void LabelSpec::describe(Schema& schema) {
  schema.field("file", file)
      .help(
          "one row a node (edge, graph) in their order, or with id_column one row a labelled node");
  schema.field("columns", columns)
      .help("of a CSV file: the label's column(s); empty: the first that is not id_column");
  schema.field("id_column", id_column)
      .help("of a CSV file: the node's id; nodes that are not in it have no label");
  describe_format(schema, format);
  schema
      .choice<LabelKindChoice>(
          "kind",
          kind,
          {{"auto",
            LabelKindChoice::kAuto,
            "integers [N] are classes, integers [N, C] multi_label, floats regression; CSV: class; "
            "a column of words: classes by name, in the order in which they first appear"},
           {"class",
            LabelKindChoice::kClass,
            "one class a row, as integers or whole floats; -1, NaN or an empty cell: no label"},
           {"name",
            LabelKindChoice::kName,
            "one class a row by name, or by numbers that are no classes; classes are the names in "
            "ascending order; an empty cell, and -1 of nodes and edges: no label"},
           {"multi_label", LabelKindChoice::kMultiLabel, "C columns of 0 or 1"},
           {"regression", LabelKindChoice::kRegression, "numbers; NaN or an empty cell: no label"}})
      .help("what the labels are");
  schema.field("classes", classes)
      .range(0, std::numeric_limits<std::int32_t>::max())
      .help("number of classes; 0: the largest label + 1");
  schema.field("none", none)
      .help(
          "values that stand for no label, as the file has them, such as [\"-1\", \"unknown\"]; "
          "[\"\"]: an empty cell alone, so that -1 is a name; empty: what kind says");
}

void ColumnSpec::describe(Schema& schema) {
  schema.field("file", file).help("one row each, in their order");
  schema.field("column", column).help("its column; empty: the first");
  describe_format(schema, format);
}

void TimeSpec::describe(Schema& schema) {
  ColumnSpec::describe(schema);
  schema.field("scale", scale)
      .at_least(0)
      .help("0: times are whole numbers; else numbers, multiplied by this and rounded");
  describe_time_unit(schema, "unit", unit);
  schema.field("id_column", id_column)
      .help(
          "of a file of columns: the node's id, as of features; empty: rows stand in their order");
}

void NodeSpec::describe(Schema& schema) {
  schema.field("type", type).help("the node type's name");
  schema.field("count", count)
      .at_least(0)
      .help(
          "number of nodes; 0: as many as features, labels or the id list have rows, else the "
          "largest id in the edges + 1");
  schema
      .choice<IdKind>("ids",
                      ids,
                      {{"dense", IdKind::kDense, "first_id to first_id + count - 1"},
                       {"integer", IdKind::kInteger, "any 64-bit integers; kept"},
                       {"string", IdKind::kString, "any text; kept"}})
      .help("how files name nodes of this type");
  schema.field("first_id", first_id)
      .range(-1e15, 1e15)
      .help("the first dense id: 1 in files that count from 1");
  schema
      .choice<UnknownIds>("unknown_ids",
                          unknown_ids,
                          {{"error", UnknownIds::kError, ""},
                           {"skip", UnknownIds::kSkip, "leave the row out, and count it"},
                           {"create",
                            UnknownIds::kCreate,
                            "make it a node, behind those of id_list or count; in edges only"}})
      .help("ids in edges, labels and splits that the type does not have");
  schema.section("id_list", id_list, "where integer or string ids are listed");
  schema.section("names",
                 names,
                 "what dense ids are called: files name nodes by number, results by name "
                 "(entity2id.txt)");
  schema.section("features", features, "a table of numbers, one row a node");
  schema.section("labels", labels, "what is to be predicted");
  schema.section("times", times, "a time a node, one row a node");
}

GraphSpec::GraphSpec(const TableFormats& known) {
  for (const auto& entry : known.catalog().list())
    formats[entry.name] = known.catalog().make_options(entry.name);
}

void GraphSpec::describe(Schema& schema) {
  schema.field("root", root)
      .help(
          "folder that file names are relative to, itself relative to this file's folder; empty: "
          "this file's folder. "
          "--root replaces it");
  schema.list("nodes", nodes, "a node type; none at all: one type 'node' with dense ids");
  schema.list("edges", edges, "a relation");
  schema.list("splits", splits, "train, valid and test nodes, edges or graphs");
  schema.section("graphs", graphs, "many small graphs: which nodes are whose");
  for (const auto& [name, options] : formats) {
    Schema keys;
    options->describe(keys);
    // [graphs] says which nodes are whose: the format of that name has no table.
    if (name != "graphs" && !keys.fields().empty())
      schema.section(name, *options, "how files of this format are read");
  }
}

std::vector<SpecFile> files_of(const GraphSpec& spec) {
  std::vector<SpecFile> files;
  const auto add = [&](const std::string& key, const auto& table) {
    if (!table.file.empty()) files.push_back({key, table.file, table.format});
  };
  for (const NodeSpec& node : spec.nodes) {
    const std::string where = fmt::format("[[nodes]] '{}' ", node.type);
    add(where + "id_list.file", node.id_list);
    add(where + "names.file", node.names);
    add(where + "features.file", node.features);
    add(where + "labels.file", node.labels);
    add(where + "times.file", node.times);
  }
  for (const EdgeSpec& edge : spec.edges) {
    const std::string where = fmt::format("[[edges]] '{}' ", edge.relation);
    add(where + "file", edge);
    add(where + "type_names.file", edge.type_names);
    add(where + "features.file", edge.features);
    add(where + "labels.file", edge.labels);
  }
  for (const SplitSpec& split : spec.splits) {
    const std::string where = fmt::format("[[splits]] '{}' ", split.name);
    for (const auto& [key, file] : {std::pair{"train", split.train},
                                    {"valid", split.valid},
                                    {"test", split.test},
                                    {"train_labels", split.train_labels},
                                    {"valid_labels", split.valid_labels},
                                    {"test_labels", split.test_labels}})
      if (!file.empty()) files.push_back({where + key, file, split.format});
  }
  add("[graphs] membership.file", spec.graphs.membership);
  add("[graphs] sizes.file", spec.graphs.sizes);
  add("[graphs] edge_sizes.file", spec.graphs.edge_sizes);
  add("[graphs] labels.file", spec.graphs.labels);
  return files;
}

bool has_split_labels(const std::vector<SplitSpec>& splits, const std::string& node_type) {
  return std::any_of(splits.begin(), splits.end(), [&](const SplitSpec& split) {
    return split.of == SplitOf::kNodes && split.node_type == node_type && split.has_labels();
  });
}

std::filesystem::path resolve_root(const GraphSpec& spec,
                                   const std::filesystem::path& config_file,
                                   const std::optional<std::string>& override_root) {
  if (override_root) return *override_root;
  return config_file.parent_path() / spec.root;
}

}  // namespace sluice
