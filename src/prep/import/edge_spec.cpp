// The keys of graph.toml that are about edges, splits and many graphs.
#include "prep/import/graph_spec.h"
#include "prep/import/time_column.h"

#include <tuple>

namespace sluice {
namespace {

constexpr const char* kEdgeFormatHelp = "the file's format; auto: by its extension";

void describe_csc(Schema& schema, CscOptions& csc) {
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
      .help(
          "store each edge's position in the file (8 or 4 bytes an edge); times, weights, features "
          "and labels of edges need it, and have it");
  schema.field("out_edges", csc.out_edges)
      .help("store each node's out-edges too; an undirected relation's are its in-edges");
}

void describe_pairs(Schema& schema, PairsChoice& pairs) {
  schema
      .choice<PairsChoice>(
          "pairs",
          pairs,
          {{"auto",
            PairsChoice::kAuto,
            "columns where the array is called edge_index; else rows, with a warning"},
           {"rows", PairsChoice::kRows, "[E, 2], one row an edge"},
           {"columns", PairsChoice::kColumns, "[2, E], sources above targets"}})
      .help("how an array of [2, 2] lies, which its shape does not tell; others are told apart");
}

}  // namespace

void EdgeSpec::describe(Schema& schema) {
  schema.field("relation", relation).help("the relation's name");
  schema.field("source", source).help("node type the edges leave; empty: the only one");
  schema.field("target", target).help("node type the edges enter; empty: the only one");
  schema.field("file", file)
      .required()
      .help("one row an edge: columns, or .npy of [E, 2] or [2, E]");
  schema.field("source_column", source_column)
      .help(
          "of a file of columns: the source's id; empty: the first column, but for an index, and "
          "for "
          "what names such as src and dst say");
  schema.field("target_column", target_column)
      .help("of a file of columns: the target's id; empty: the second column, likewise");
  schema.field("format", format).help(kEdgeFormatHelp);
  describe_pairs(schema, pairs);
  schema.field("reverse", reverse)
      .help("name of a second relation with these edges the other way round; empty: none");
  schema.field("type_column", type_column)
      .help("the column that says each edge's type, by name; empty: edges have no types");
  schema
      .choice<EdgeTypes>("types",
                         types,
                         {{"relations",
                           EdgeTypes::kRelations,
                           "a relation for each type, named after it (after relation and it, where "
                           "relation is set)"},
                          {"labels", EdgeTypes::kLabels, "one relation; types are edge labels"}})
      .help("what types of edges make");
  schema.section("type_names",
                 type_names,
                 "what types are called, where type_column holds numbers from 0 on "
                 "(relation2id.txt)");
  schema.field("time_column", time_column)
      .help(
          "the column of each edge's time, a whole number or what time_scale and time_unit make of "
          "it; in-edges then stand in the order of time; empty: edges have no times");
  schema.field("time_scale", time_scale)
      .at_least(0)
      .help("0: times are whole numbers; else numbers, multiplied by this and rounded");
  describe_time_unit(schema, "time_unit", time_unit);
  schema.field("weight_column", weight_column)
      .help("the column of each edge's weight, a number >= 0; empty: edges have no weights");
  schema.section("features", features, "a row of numbers an edge; file empty: of the same file");
  schema.section("labels", labels, "a label an edge; file empty: of the same file");
  describe_csc(schema, csc);
}

void SplitSpec::describe(Schema& schema) {
  schema.field("name", name).help("the split's name");
  schema
      .choice<SplitOf>(
          "of",
          of,
          {{"nodes", SplitOf::kNodes, ""},
           {"edges",
            SplitOf::kEdges,
            "files of edges, which stand apart from the relations; or by ratio, ids of "
            "one relation's edges"},
           {"graphs", SplitOf::kGraphs, ""}})
      .help("what it splits");
  schema.field("node_type", node_type)
      .help("whose nodes it splits; empty: the only type, or the only one with labels");
  schema.field("train", train)
      .help(
          "file of the training ids: an array, or a column; or a mask, a bool (or 0 and 1) a node; "
          "of edges: two columns");
  schema.field("valid", valid).help("file of the validation ids (edges)");
  schema.field("test", test).help("file of the test ids (edges)");
  schema.field("train_labels", train_labels)
      .help(
          "of nodes: a file with a label for each id of train, in their order, where labels stand "
          "beside splits alone; [[nodes]] labels.kind and .classes say what they are");
  schema.field("valid_labels", valid_labels).help("the same of valid");
  schema.field("test_labels", test_labels).help("the same of test");
  schema.field("column", column)
      .help("of files of columns: that of ids, or of the mask; empty: the first");
  schema.field("columns", columns)
      .help(
          "instead of column: one for each part, train, valid and test in this order, such as "
          "[\"train_mask\", \"val_mask\", \"test_mask\"]; the parts may be of one file then");
  schema.field("id_column", id_column)
      .help(
          "of masks: the column of the node's id beside them; rows may then stand in any order; "
          "empty: one that is called id, node_id or the like where rows are not in the order of "
          "the nodes, else their order");
  schema.field("format", format).help(kEdgeFormatHelp);
  schema.field("ratio", ratio)
      .range(0, 1)
      .help(
          "instead of files: shares of train, valid and test, such as [0.6, 0.2, 0.2], drawn from "
          "the labelled nodes (graphs), or from all edges");
  schema.field("seed", seed).at_least(0).help("of the draw by ratio");
  schema.field("relation", relation)
      .help("of edges: the relation as an [[edges]] names it; empty: the only one");
  schema
      .choice<SplitOrder>("order",
                          order,
                          {{"random", SplitOrder::kRandom, ""},
                           {"time", SplitOrder::kTime, "the earliest train, the latest test"}})
      .help("of edges by ratio: which ones");
  schema.field("source_column", source_column)
      .help("of files of edges: the source's id; empty: that of the [[edges]]");
  schema.field("target_column", target_column)
      .help("of files of edges: the target's id; empty: that of the [[edges]]");
  schema.field("type_column", type_column)
      .help("of files of edges: the type; empty: that of the [[edges]]");
  schema.field("label_column", label_column)
      .help("of files of edges: 1 for an edge, 0 for an example of none; empty: all are edges");
  describe_pairs(schema, pairs);
}

std::vector<SplitPart> SplitSpec::parts() const {
  std::vector<SplitPart> all;
  for (const auto& [part, file, labels] : {std::tuple{"train", &train, &train_labels},
                                           {"valid", &valid, &valid_labels},
                                           {"test", &test, &test_labels}}) {
    if (file->empty()) continue;
    const std::size_t at = all.size();
    const std::string& own = at < columns.size() ? columns[at] : column;
    all.push_back({part, *file, *labels, own, id_column, format});
  }
  return all;
}

void GraphsSpec::describe(Schema& schema) {
  schema.field("node_type", node_type).help("whose nodes they have; empty: the only one");
  schema.section("membership", membership, "the number of each node's graph, ascending");
  schema.section("sizes", sizes, "instead of it: the number of nodes of each graph");
  schema.section("edge_sizes",
                 edge_sizes,
                 "the number of edges of each graph: the edges stand graph by graph, and count the "
                 "nodes of each anew");
  schema.field("first_id", first_id).help("of membership: the number of the first graph");
  schema.section("labels", labels, "one row a graph");
}

}  // namespace sluice
