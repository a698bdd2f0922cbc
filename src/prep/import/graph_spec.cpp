// The keys of graph.toml. What they mean together is checked in graph_spec_check.cpp.
#include "prep/import/graph_spec.h"

#include <limits>

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

void FeatureSpec::describe(Schema& schema) {
  schema.field("file", file)
      .help("one row a node, in the order of the ids: .npy of [N, D], or CSV columns");
  schema.field("columns", columns)
      .help("of a CSV file: the columns to take, in this order; empty: all");
  describe_format(schema, format);
  choice.describe(schema);
  schema.field("seed", seed).at_least(0).help("of stochastic rounding");
  schema
      .choice<NotFinite>(
          "not_finite",
          not_finite,
          {{"refuse",
            NotFinite::kRefuse,
            "NaN and infinity are errors: they would poison training"},
           {"keep",
            NotFinite::kKeep,
            "take them as they are, unless dtype is int8; an empty CSV cell is NaN"}})
      .help("what to do with values that are not finite");
}

void LabelSpec::describe(Schema& schema) {
  schema.field("file", file)
      .help("one row a node in the order of the ids, or with id_column one row a labelled node");
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
            "integers [N] are classes, integers [N, C] multi_label, floats regression; CSV: class"},
           {"class", LabelKindChoice::kClass, "one class a node; -1 or an empty cell: no label"},
           {"multi_label", LabelKindChoice::kMultiLabel, "C columns of 0 or 1"},
           {"regression", LabelKindChoice::kRegression, "numbers; NaN or an empty cell: no label"}})
      .help("what the labels are");
  schema.field("classes", classes)
      .range(0, std::numeric_limits<std::int32_t>::max())
      .help("number of classes; 0: the largest label + 1");
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
                      {{"dense", IdKind::kDense, "0 to count - 1"},
                       {"integer", IdKind::kInteger, "any 64-bit integers; kept"},
                       {"string", IdKind::kString, "any text; kept"}})
      .help("how files name nodes of this type");
  schema.section("id_list", id_list, "where integer or string ids are listed");
  schema.section("features", features, "a table of numbers, one row a node");
  schema.section("labels", labels, "what is to be predicted");
}

void EdgeSpec::describe(Schema& schema) {
  schema.field("relation", relation).help("the relation's name");
  schema.field("source", source).help("node type the edges leave; empty: the only one");
  schema.field("target", target).help("node type the edges enter; empty: the only one");
  schema.field("file", file).required().help("one row an edge: CSV columns, or .npy of [E, 2]");
  schema.field("source_column", source_column)
      .help("of a CSV file: the source's id; empty: the first column");
  schema.field("target_column", target_column)
      .help("of a CSV file: the target's id; empty: the second column");
  describe_format(schema, format);
  schema.field("undirected", csc.undirected).help("each edge also stands the other way round");
  schema
      .choice<SelfLoops>("self_loops",
                         csc.self_loops,
                         {{"keep", SelfLoops::kKeep, ""},
                          {"drop", SelfLoops::kDrop, ""},
                          {"add", SelfLoops::kAdd, "exactly one a node"}})
      .help("edges from a node to itself");
  schema
      .choice<Duplicates>("duplicates",
                          csc.duplicates,
                          {{"keep", Duplicates::kKeep, ""},
                           {"drop", Duplicates::kDrop, "the first of equal edges stays"},
                           {"error", Duplicates::kError, "end with an error that names one"}})
      .help("edges of the same source and target");
  schema.field("edge_ids", csc.edge_ids)
      .help("store each edge's position in the file (8 or 4 bytes an edge)");
  schema.field("out_edges", csc.out_edges)
      .help("store each node's out-edges too; an undirected relation's are its in-edges");
}

void SplitSpec::describe(Schema& schema) {
  schema.field("name", name).help("the split's name");
  schema.field("node_type", node_type)
      .help("whose nodes it splits; empty: the only type, or the only one with labels");
  schema.field("train", train)
      .help("file of the training nodes' ids: .npy of [N], or a CSV column");
  schema.field("valid", valid).help("file of the validation nodes' ids");
  schema.field("test", test).help("file of the test nodes' ids");
  schema.field("column", column).help("of CSV files: the column of ids; empty: the first");
  describe_format(schema, format);
  schema.field("ratio", ratio)
      .range(0, 1)
      .help(
          "instead of files: shares of train, valid and test, such as [0.6, 0.2, 0.2], drawn from "
          "the labelled nodes");
  schema.field("seed", seed).at_least(0).help("of the draw by ratio");
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
  schema.list("splits", splits, "train, valid and test nodes");
  for (const auto& [name, options] : formats) {
    Schema keys;
    options->describe(keys);
    if (!keys.fields().empty()) schema.section(name, *options, "how files of this format are read");
  }
}

std::filesystem::path resolve_root(const GraphSpec& spec,
                                   const std::filesystem::path& config_file,
                                   const std::optional<std::string>& override_root) {
  if (override_root) return *override_root;
  return config_file.parent_path() / spec.root;
}

}  // namespace sluice
