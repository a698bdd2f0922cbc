// OGB's folders.
#include "layout_support.h"

using namespace sluice;
using namespace sluice::test;

namespace {

void write_nodes(const LayoutFolder& folder) {
  folder.gz("raw/edge.csv.gz", "0,1\n1,2\n3,0\n");
  folder.gz("raw/num-node-list.csv.gz", "5\n");
  folder.gz("raw/num-edge-list.csv.gz", "3\n");
  folder.gz("raw/node-feat.csv.gz", "1,2\n3,4\n5,6\n7,8\n9,10\n");
  folder.gz("raw/node-label.csv.gz", "0\n1\n2\n1\n0\n");
  folder.gz("raw/node_year.csv.gz", "2001\n2002\n2003\n2004\n2005\n");
  folder.gz("split/time/train.csv.gz", "0\n1\n");
  folder.gz("split/time/valid.csv.gz", "2\n");
  folder.gz("split/time/test.csv.gz", "3\n4\n");
  folder.gz("mapping/labelidx2arxivcategeory.csv.gz", "label idx,arxiv category\n0,cs.AI\n");
}

}  // namespace

TEST_CASE("ogb: a data set of nodes") {
  LayoutFolder folder;
  write_nodes(folder);
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  const Dataset dataset = folder.dataset(described);
  CHECK((in_edges(dataset, "node__edge__node") == in_edges(5, {{0, 1}, {1, 2}, {3, 0}})));
  CHECK(stored_f32_rows(folder.out(), "node", 5, 2) ==
        std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(values_of<std::int32_t>(dataset.labels("node")) ==
        std::vector<std::int32_t>{0, 1, 2, 1, 0});
  CHECK(dataset.schema().nodes[0].has_times);
  const Split split = dataset.split("time");
  CHECK(values_of<std::uint64_t>(split.train) == std::vector<std::uint64_t>{0, 1});
  CHECK(values_of<std::uint64_t>(split.valid) == std::vector<std::uint64_t>{2});
  CHECK(values_of<std::uint64_t>(split.test) == std::vector<std::uint64_t>{3, 4});
}

TEST_CASE("ogb: what cannot be taken is said, each by its name") {
  LayoutFolder folder;
  write_nodes(folder);
  folder.gz("raw/edge-feat.csv.gz", "0.5\n1\n2\n");
  folder.gz("raw/edge_weight.csv.gz", "1\n2\n3\n");
  folder.gz("raw/edge_year.csv.gz", "1\n2\n3\n");
  folder.gz("raw/edge_reltype.csv.gz", "0\n2\n1\n");
  folder.gz("raw/node_species.csv.gz", "1\n1\n1\n1\n1\n");
  folder.gz("raw/node-label.csv.gz", "0,1\n1,1\n0,0\n1,0\n0,1\n");
  folder.write("split/other/train.pt", "x");
  folder.write("split/other/test.pt", "x");
  const auto described = folder.describe();
  CHECK(described.warnings ==
        std::vector<std::string>{
            "raw/edge_weight.csv.gz: edges have one table of features, edge-feat here",
            "split/other/test.pt and 1 more: files that torch.save wrote are not read; in Python, "
            "numpy.savetxt('train.csv', torch.load('train.pt')['edge'], '%d', ',') makes one that "
            "can be: then add a [[splits]] of = \"edges\"",
            "raw/edge_year.csv.gz: columns of edges stand in the file of edges: paste them "
            "together, and say time_column or weight_column",
            "raw/node_species.csv.gz: nodes have features, labels and times, and this is none of "
            "them"});
  const Dataset dataset = folder.dataset(described);
  CHECK(dataset.schema().nodes[0].labels->kind == LabelKind::kMultiLabel);
  CHECK(dataset.schema().nodes[0].labels->width == 2);
  CHECK(dataset.schema().relations[0].labels->width == 3);
  CHECK(dataset.schema().relations[0].features.at(0).dim == 1);
  CHECK(dataset.schema().splits.size() == 1);
}

TEST_CASE("ogb: many graphs, whose edges count their nodes anew") {
  LayoutFolder folder;
  folder.gz("raw/edge.csv.gz", "0,1\n1,2\n1,0\n0,1\n");
  folder.gz("raw/num-node-list.csv.gz", "3\n1\n2\n");
  folder.gz("raw/num-edge-list.csv.gz", "2\n0\n2\n");
  folder.gz("raw/node-feat.csv.gz", "1\n2\n3\n4\n5\n6\n");
  folder.gz("raw/edge-feat.csv.gz", "1,0\n2,0\n3,0\n4,0\n");
  folder.gz("raw/graph-label.csv.gz", "0,1.5\n1,\n0,nan\n");
  folder.gz("split/scaffold/train.csv.gz", "2\n0\n");
  folder.gz("split/scaffold/valid.csv.gz", "1\n");
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  const Dataset dataset = folder.dataset(described);
  CHECK((in_edges(dataset, "node__edge__node") == in_edges(6, {{0, 1}, {1, 2}, {5, 4}, {4, 5}})));
  CHECK(values_of<std::uint64_t>(dataset.graphs().offsets) ==
        std::vector<std::uint64_t>{0, 3, 4, 6});
  CHECK(dataset.schema().graphs->labels->kind == LabelKind::kRegression);
  CHECK(values_of<std::uint64_t>(dataset.graph_split("scaffold").train) ==
        std::vector<std::uint64_t>{0, 2});
}

TEST_CASE("edges that count the nodes of each graph anew: what is wrong") {
  LayoutFolder folder;
  folder.write("e.csv", "s,t\n0,1\n1,0\n0,0\n");
  folder.write("n.csv", "n\n2\n1\n");
  folder.write("m.csv", "n\n2\n1\n");
  const std::string edges = "[[edges]]\nfile = 'e.csv'\n";
  const std::string graphs = "[graphs]\nsizes.file = 'n.csv'\nedge_sizes.file = 'm.csv'\n";
  folder.run(edges + graphs);
  const Dataset dataset = Dataset::open(folder.out());
  CHECK((in_edges(dataset, "node__edge__node") == in_edges(3, {{0, 1}, {1, 0}, {2, 2}})));

  const auto text = [&](const std::string& toml) {
    return as_text(expect_error([&] { folder.run(toml, Overwrite::kReplace); }), folder);
  };
  folder.write("m.csv", "n\n1\n2\n");
  CHECK(text(edges + graphs) ==
        "data|ROOT/raw/e.csv:3: column 's': the id 1 is none of graph 1, which has 1 nodes|with "
        "edge_sizes each graph's nodes are counted from 0");
  folder.write("m.csv", "n\n2\n0\n");
  CHECK(text(edges + graphs) ==
        "data|ROOT/raw/e.csv:4: column 's': the graphs have 2 edges, and this is one more|[graphs] "
        "edge_sizes says how many each graph has");
  folder.write("m.csv", "n\n2\n2\n");
  CHECK(text(edges + graphs) ==
        "data|ROOT/raw/e.csv: 3 edges, but the graphs have 4|[graphs] edge_sizes says how many "
        "each graph has");
  folder.write("m.csv", "n\n2\n");
  CHECK(text(edges + graphs) ==
        "data|ROOT/raw/m.csv: 1 graphs have edges, 2 have nodes|[graphs] edge_sizes has one row a "
        "graph");
  folder.write("m.csv", "n\n-1\n");
  CHECK(text(edges + graphs) ==
        "data|ROOT/raw/m.csv:2: column 'n': -1 is no number of edges|one number >= 0 a graph");
  CHECK(text("[[nodes]]\nids = 'integer'\n" + edges + graphs) ==
        "usage|[graphs] edge_sizes needs dense ids|leave ids out, or edge_sizes");
  CHECK(text(edges + "[[edges]]\nrelation = 'b'\nfile = 'e.csv'\n" + graphs) ==
        "usage|[graphs] edge_sizes needs one [[edges]], between its own nodes|count the nodes of "
        "other edges through all graphs");
  CHECK(text(edges + graphs + "[[splits]]\nof = 'edges'\ntest = 'e.csv'\n") ==
        "usage|[[splits]] 'default': with [graphs] edge_sizes its edges have no graphs|say ratio "
        "instead of files");
  CHECK(text(edges + "[graphs]\nedge_sizes.file = 'm.csv'\n") ==
        "usage|[graphs] says neither membership nor sizes|for example membership = { file = "
        "\"nodes.csv\", column = \"graph\" }");
}

namespace {

void write_hetero(const LayoutFolder& folder) {
  folder.gz("mag/raw/triplet-type-list.csv.gz", "author,writes,paper\npaper,cites,paper\n");
  folder.gz("mag/raw/num-node-dict.csv.gz", "author,paper\n4,3\n");
  folder.gz("mag/raw/nodetype-has-feat.csv.gz", "author,paper\nFalse,True\n");
  folder.gz("mag/raw/relations/author___writes___paper/edge.csv.gz", "0,0\n1,0\n2,1\n");
  folder.gz("mag/raw/relations/author___writes___paper/edge_reltype.csv.gz", "0\n0\n0\n");
  folder.gz("mag/raw/relations/paper___cites___paper/edge.csv.gz", "1,0\n2,0\n");
  folder.gz("mag/raw/node-feat/paper/node-feat.csv.gz", "1,2\n3,4\n5,6\n");
  folder.gz("mag/raw/node-feat/paper/node_year.csv.gz", "2010\n2011\n2012\n");
  folder.gz("mag/raw/node-label/paper/node-label.csv.gz", "1\n0\n1\n");
  folder.gz("mag/split/time/paper/train.csv.gz", "0\n");
  folder.gz("mag/split/time/paper/valid.csv.gz", "1\n");
  folder.gz("mag/split/time/paper/test.csv.gz", "2\n");
  folder.gz("mag/split/time/nodetype-has-split.csv.gz", "author,paper\nFalse,True\n");
}

}  // namespace

TEST_CASE("ogb: several node types") {
  LayoutFolder folder;
  write_hetero(folder);
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  const Dataset dataset = folder.dataset(described);
  CHECK(dataset.schema().nodes.size() == 2);
  const auto writes = in_edges(dataset, "author__writes__paper");
  CHECK((writes == std::vector<std::vector<std::uint64_t>>{{0, 1}, {2}, {}}));
  CHECK((in_edges(dataset, "paper__cites__paper") == in_edges(3, {{1, 0}, {2, 0}})));
  CHECK(dataset.topology("author__writes__paper")->num_sources() == 4);
  CHECK(stored_f32_rows(folder.out(), "paper", 3, 2) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(values_of<std::int32_t>(dataset.labels("paper")) == std::vector<std::int32_t>{1, 0, 1});
  CHECK(values_of<std::uint64_t>(dataset.split("time").test) == std::vector<std::uint64_t>{2});
}

TEST_CASE("ogb: several node types, what is wrong") {
  LayoutFolder folder;
  write_hetero(folder);
  const auto text = [&] { return as_text(expect_error([&] { folder.describe(); }), folder); };
  folder.gz("mag/raw/num-node-dict.csv.gz", "author,paper\n4\n");
  CHECK(text() ==
        "data|ROOT/raw/mag/raw/num-node-dict.csv.gz:2: 1 numbers of nodes for 2 types|a line with "
        "the names of the types, and one with their numbers of nodes");
  folder.gz("mag/raw/num-node-dict.csv.gz", "author,paper\n4,x\n");
  CHECK(text() ==
        "data|ROOT/raw/mag/raw/num-node-dict.csv.gz:2: 'x' is no number of nodes|a whole number");
  folder.gz("mag/raw/num-node-dict.csv.gz", "author,paper\n4,3\n4,3\n");
  CHECK(text() ==
        "data|ROOT/raw/mag/raw/num-node-dict.csv.gz:2: many graphs of several node types cannot be "
        "imported|export one of its graphs, or one node type");
  write_hetero(folder);
  folder.gz("mag/raw/triplet-type-list.csv.gz", "author,likes,paper\n");
  CHECK(text() ==
        "data|ROOT/raw/mag/raw/relations/author___likes___paper/: there is no edge.csv.gz of the "
        "relation author, likes, paper|triplet-type-list names it");
}
