// DGL's data sets: CSVDataset and GraphBolt.
#include "layout_support.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("dgl: CSVDataset of one node type") {
  LayoutFolder folder;
  folder.write("meta.yaml",
               "dataset_name: mini\nedge_data:\n- file_name: edges.csv\nnode_data:\n- file_name: "
               "nodes.csv\n");
  folder.write("nodes.csv",
               "node_id,label,train_mask,val_mask,a,b,feat\n0,1,True,False,0.5,1,\"0.1,0.2\"\n"
               "1,0,False,True,1.5,2,\"0.3,0.4\"\n2,1,False,False,2.5,3,\"0.5,0.6\"\n");
  folder.write("edges.csv", "src_id,dst_id,label,w\n0,1,2,0.5\n1,2,0,1\n2,0,1,2\n");
  const auto described = folder.describe();
  CHECK(described.warnings ==
        std::vector<std::string>{
            "nodes.csv: the column feat holds texts, or lists of numbers in quotes; features are a "
            "column a number, or a .npy file"});
  const Dataset dataset = folder.dataset(described);
  CHECK((in_edges(dataset, "node__edge__node") == in_edges(3, {{0, 1}, {1, 2}, {2, 0}})));
  CHECK(stored_f32_rows(folder.out(), "node", 3, 2) == std::vector<float>{0.5, 1, 1.5, 2, 2.5, 3});
  CHECK(values_of<std::int32_t>(dataset.labels("node")) == std::vector<std::int32_t>{1, 0, 1});
  using Ids = std::vector<std::uint64_t>;
  CHECK(values_of<std::uint64_t>(dataset.split("default").train) == Ids{0});
  CHECK(values_of<std::uint64_t>(dataset.split("default").valid) == Ids{1});
  CHECK(dataset.schema().splits.at(0).test == 0);
  CHECK(dataset.schema().relations[0].labels->width == 3);
  CHECK(dataset.schema().relations[0].features.at(0).dim == 1);
}

TEST_CASE("dgl: CSVDataset of several node types, with ids of their own") {
  LayoutFolder folder;
  folder.write("meta.yaml",
               "dataset_name: mini\nseparator: ';'\nedge_data:\n- file_name: follows.csv\n  etype: "
               "[user, follows, user]\n- file_name: buys.csv\n  etype: [user, buys, item]\n"
               "  src_id_field: u\n  dst_id_field: i\nnode_data:\n- file_name: users.csv\n"
               "  ntype: user\n- file_name: items.csv\n  ntype: item\n  node_id_field: name\n");
  folder.write("users.csv", "node_id;label\n10;0\n7;1\n");
  folder.write("items.csv", "name;price\nx;1\ny;2\nz;3\n");
  folder.write("follows.csv", "src_id;dst_id\n10;7\n");
  folder.write("buys.csv", "u;i\n7;z\n10;x\n");
  const Dataset dataset = folder.dataset(folder.describe());
  CHECK((in_edges(dataset, "user__follows__user") == in_edges(2, {{0, 1}})));
  CHECK((in_edges(dataset, "user__buys__item") ==
         std::vector<std::vector<std::uint64_t>>{{0}, {}, {1}}));
  CHECK(dataset.schema().nodes[0].ids == IdKind::kInteger);
  CHECK(dataset.schema().nodes[1].ids == IdKind::kString);
}

TEST_CASE("dgl: masks of several types, of edges, and without train") {
  LayoutFolder folder;
  folder.write(
      "meta.yaml",
      "dataset_name: mini\nedge_data:\n- file_name: buys.csv\n  etype: [user, buys, item]\n"
      "node_data:\n- file_name: users.csv\n  ntype: user\n- file_name: items.csv\n"
      "  ntype: item\n- file_name: shops.csv\n  ntype: shop\n");
  // Ids in an order of their own: rows are nodes, whatever their numbers.
  folder.write("users.csv",
               "node_id,train_mask,val_mask,test_mask\n2,1,0,0\n0,0,1,0\n1,1,0,0\n3,0,0,1\n");
  folder.write("items.csv", "node_id,train_mask\nx,False\ny,True\nz,False\n");
  folder.write("shops.csv", "node_id,test_mask\na,False\nb,True\n");
  folder.write("buys.csv", "src_id,dst_id,train_mask\n0,x,True\n1,y,False\n");
  const auto described = folder.describe();
  CHECK(described.warnings ==
        std::vector<std::string>{"shops.csv: test_mask: without a train_mask this is no split",
                                 "buys.csv: train_mask: masks of edges; a split of edges is files "
                                 "of edges, or ratio, in a [[splits]]"});
  CHECK(described.spec.splits.at(0).columns ==
        std::vector<std::string>{"train_mask", "val_mask", "test_mask"});
  const Dataset dataset = folder.dataset(described);
  const auto of = [&](const Array& part, const char* type) {
    std::vector<std::string> names;
    for (const std::uint64_t node : values_of<std::uint64_t>(part))
      names.push_back(dataset.ids(type).text(node));
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(of(dataset.split("default").train, "user") == Names{"2", "1"});
  CHECK(of(dataset.split("default").valid, "user") == Names{"0"});
  CHECK(of(dataset.split("default").test, "user") == Names{"3"});
  CHECK(of(dataset.split("item").train, "item") == Names{"y"});
}

TEST_CASE("dgl: GraphBolt's OnDiskDataset") {
  LayoutFolder folder;
  folder.write("metadata.yaml", R"(dataset_name: mini
graph:
  nodes:
    - type: user
      num: 3
    - type: item
      num: 2
  edges:
    - type: "user:follow:user"
      format: csv
      path: edges/follow.csv
    - type: "user:click:item"
      format: numpy
      path: edges/click.npy
feature_data:
  - {domain: node, type: user, name: feat, format: numpy, path: data/user.npy}
  - {domain: node, type: user, name: label, format: numpy, path: data/label.npy}
  - {domain: node, type: user, name: other, format: numpy, path: data/user.npy}
  - {domain: node, type: item, name: feat, format: torch, path: data/item.pt}
  - {domain: edge, type: "user:follow:user", name: feat, format: numpy, path: data/follow.npy}
tasks:
  - name: node_classification
    num_classes: 4
    train_set:
      - type: user
        data:
          - {name: seeds, format: numpy, path: set/train.npy}
          - {name: labels, format: numpy, path: set/train-labels.npy}
    test_set:
      - type: user
        data:
          - {name: seeds, format: numpy, path: set/test.npy}
  - name: link_prediction
    train_set:
      - type: "user:follow:user"
        data:
          - {name: seeds, format: numpy, path: set/pairs.npy}
          - {name: indexes, format: numpy, path: set/train.npy}
)");
  folder.write("edges/follow.csv", "0,1\n2,1\n");
  folder.write("edges/click.npy",
               npy("<i8", "(2, 3)", bytes_of_values<std::int64_t>({0, 1, 2, 1, 0, 1})));
  folder.write("data/user.npy", npy_rows(3, 2, {1, 2, 3, 4, 5, 6}));
  folder.write("data/follow.npy", npy_rows(2, 1, {7, 8}));
  folder.write("data/label.npy", npy_ids({3, 0, 1}));
  folder.write("data/item.pt", "x");
  folder.write("set/train.npy", npy_ids({0, 2}));
  folder.write("set/train-labels.npy", npy_ids({3, 1}));
  folder.write("set/test.npy", npy_ids({1}));
  folder.write("set/pairs.npy", npy("<i8", "(2, 2)", bytes_of_values<std::int64_t>({0, 1, 2, 1})));
  const auto described = folder.describe();
  CHECK(described.warnings ==
        std::vector<std::string>{
            "data/user.npy: the feature other of nodes; nodes and edges have one table of features",
            "data/item.pt: the feature feat in the format torch is not read; "
            "numpy.save('FILE.npy', torch.load(...).numpy()), and say format: numpy",
            "set/train.npy: indexes of a split have no place in a graph.toml"});
  const Dataset dataset = folder.dataset(described);
  CHECK((in_edges(dataset, "user__follow__user") == in_edges(3, {{0, 1}, {2, 1}})));
  CHECK((in_edges(dataset, "user__click__item") ==
         std::vector<std::vector<std::uint64_t>>{{1}, {0, 2}}));
  CHECK(dataset.schema().nodes[0].labels->width == 4);
  CHECK(values_of<std::uint64_t>(dataset.split("node_classification").train) ==
        std::vector<std::uint64_t>{0, 2});
  CHECK(dataset.schema().edge_splits.at(0).name == "link_prediction");
}

TEST_CASE("dgl: what is wrong is named with its line") {
  LayoutFolder folder;
  const auto text = [&](const char* yaml) {
    folder.write("metadata.yaml", yaml);
    return as_text(expect_error([&] { folder.describe(); }), folder);
  };
  folder.write("e.csv", "0,1\n");
  CHECK(text("graph: [\n").find("data|ROOT/raw/metadata.yaml:2:1: is not YAML: ") == 0);
  CHECK(text("dataset_name: x\n") ==
        "data|ROOT/raw/metadata.yaml:1: there is neither graph (GraphBolt) nor edge_data "
        "(CSVDataset)|these two are known of DGL's YAML files");
  CHECK(text("graph:\n  nodes:\n  - num: 2\n") ==
        "data|ROOT/raw/metadata.yaml:2: graph has no edges|edges: a list of files");
  CHECK(text("graph:\n  edges:\n  - format: csv\n") ==
        "data|ROOT/raw/metadata.yaml:3: there is no path here|path: ...");
  CHECK(
      text("graph:\n  edges:\n  - format: csv\n    path: f.csv\n") ==
      "data|ROOT/raw/metadata.yaml:3: there is no file f.csv|paths are relative to the YAML file");
  CHECK(text("graph:\n  edges:\n  - type: a-b\n    path: e.csv\n") ==
        "data|ROOT/raw/metadata.yaml:3: the edges' type 'a-b' has no three parts|such as "
        "user:follow:item");
  CHECK(text("graph:\n  nodes:\n  - num: two\n  edges:\n  - path: e.csv\n") ==
        "data|ROOT/raw/metadata.yaml:3: num: 'two' is no whole number|write it in digits");
  CHECK(text("graph:\n  edges: e.csv\n") ==
        "data|ROOT/raw/metadata.yaml:2: edges is no list|- ...");
  CHECK(text("edge_data:\n- file_name: e.csv\n  etype: [a, b]\n") ==
        "data|ROOT/raw/metadata.yaml:3: etype has three names|[user, follow, item]");
}
