// TU's folders of many small graphs.
#include "layout_support.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Three graphs: a path of 3, a single node, a pair.
void write_tu(const LayoutFolder& folder, const std::string& prefix = "DS/DS") {
  folder.write(prefix + "_A.txt", "1, 2\n2, 1\n2, 3\n3, 2\n5, 6\n6, 5\n");
  folder.write(prefix + "_graph_indicator.txt", "1\n1\n1\n2\n3\n3\n");
  folder.write(prefix + "_graph_labels.txt", "1\n-1\n1\n");
}

}  // namespace

TEST_CASE("tu: edges, graphs and their labels, counted from 1") {
  LayoutFolder folder;
  write_tu(folder);
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  CHECK(described.toml.find("layout \"tu\": there are DS/DS_A.txt and DS/DS_graph_indicator.txt") !=
        std::string::npos);
  const Dataset dataset = folder.dataset(described);
  // The last node of the second graph has no edges: only [graphs] tells of it.
  CHECK((in_edges(dataset, "node__edge__node") ==
         in_edges(6, {{0, 1}, {1, 0}, {1, 2}, {2, 1}, {4, 5}, {5, 4}})));
  CHECK(values_of<std::uint64_t>(dataset.graphs().offsets) ==
        std::vector<std::uint64_t>{0, 3, 4, 6});
  CHECK(values_of<std::int32_t>(dataset.graphs().labels) == std::vector<std::int32_t>{1, 0, 1});
  CHECK(dataset.schema().graphs->labels->names == std::vector<std::string>{"-1", "1"});
  CHECK(dataset.schema().nodes[0].ids == IdKind::kInteger);
}

TEST_CASE("tu: a last graph of nodes without edges is there") {
  LayoutFolder folder;
  folder.write("X_A.txt", "1,2\n2,1\n");
  folder.write("X_graph_indicator.txt", "1\n1\n2\n");
  folder.write("X_graph_attributes.txt", "0.5\n-1.25\n");
  const Dataset dataset = folder.dataset(folder.describe());
  CHECK(dataset.schema().nodes[0].count == 3);
  CHECK(dataset.schema().graphs->labels->kind == LabelKind::kRegression);
  CHECK(values_of<float>(dataset.graphs().labels) == std::vector<float>{0.5F, -1.25F});
}

TEST_CASE("tu: labels and attributes of nodes and edges") {
  LayoutFolder folder;
  write_tu(folder, "DS");
  folder.write("DS_label_table.txt", "0\n2\n1\n0\n0\n2\n");
  folder.write("DS_node_attributes.txt", "1, 2\n3, 4\n5, 6\n7, 8\n9, 10\n11, 12\n");
  folder.write("DS_edge_labels.txt", "3, 0\n3, 1\n5, 2\n5, 3\n3, 4\n3, 5\n");
  folder.write("DS_edge_attributes.txt", "1\n2\n3\n4\n5\n6.5\n");
  folder.write("DS_graph_attributes.txt", "0.5\n1\n2\n");
  const auto described = folder.describe();
  REQUIRE(described.warnings.size() == 1);
  CHECK(described.warnings[0] ==
        "DS_graph_attributes.txt: graphs have one table of labels, DS_graph_labels.txt here; name "
        "it in [graphs] labels.file, with labels.kind = \"regression\", to predict these numbers "
        "instead");
  const Dataset dataset = folder.dataset(described);
  CHECK(stored_f32_rows(folder.out(), "node", 6, 2) ==
        std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(values_of<std::int32_t>(dataset.labels("node")) ==
        std::vector<std::int32_t>{0, 2, 1, 0, 0, 2});
  const RelationSchema& edges = dataset.schema().relations.at(0);
  CHECK(edges.labels->names == std::vector<std::string>{"3", "5"});
  CHECK(edges.features.at(0).dim == 1);
}

TEST_CASE("tu: what is wrong is named with its line") {
  LayoutFolder folder;
  write_tu(folder, "DS");
  folder.write("DS_A.txt", "1, 2\n0, 1\n");
  CHECK(as_text(expect_error([&] { folder.import(folder.describe()); }), folder) ==
        "data|ROOT/raw/DS_A.txt:2: column 'c0': the id 0 is below the first, 1|dense ids run from "
        "first_id on; for others say ids = \"integer\"");
  write_tu(folder, "DS");
  folder.write("DS_graph_labels.txt", "1\n2\n");
  CHECK(as_text(expect_error([&] { folder.import(folder.describe()); }), folder) ==
        "data|ROOT/raw/DS_graph_labels.txt: 2 rows for 3 graphs|every graph needs exactly one row");
  CHECK(
      as_text(expect_error([&] { folder.describe({}, "ogb"); }), folder) ==
      "data|ROOT/raw: this is not of the layout 'ogb', by its files: DS_A.txt, "
      "DS_graph_indicator.txt, DS_graph_labels.txt|leave --layout out, or describe the files in a "
      "graph.toml (sluice-prep import --keys), and import it with --config");
  CHECK(as_text(expect_error([&] { folder.describe({}, "obg"); }), folder) ==
        "usage|there is no layout 'obg'|did you mean 'ogb'? known: auto, ogb, tu, dgl, openke, "
        "triples, files");
}
