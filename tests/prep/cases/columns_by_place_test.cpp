// Tables whose columns nobody named: an index and an id in front are never the thing itself.
#include "case_folder.h"
#include "prep/arrow_files.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* kRing = "src,dst\n0,1\n1,2\n2,3\n3,0\n";
const std::string kPlainEdges = "[[edges]]\nfile = 'e.csv'\n";

}  // namespace

TEST_CASE("by place: an index in front of edges, whoever wrote it") {
  const NamedEdges expected{{"5", "7"}, {"7", "6"}, {"5", "6"}, {"8", "5"}};
  for (const char* index : {"", "Unnamed: 0", "index", "level_0", "rownames", "\"\""}) {
    CAPTURE(index);
    CaseFolder folder;
    folder.write("edges.csv",
                 std::string(index) +
                     ",src,dst,time,extra\n0,5,7,0.0,0\n1,7,6,10.0,0\n"
                     "2,5,6,20.0,1\n3,8,5,30.0,2\n");
    const auto made = folder.by_toml("[[nodes]]\nids = 'integer'\n[[edges]]\nfile = 'edges.csv'\n");
    CHECK(edges_of(made.dataset, "node__edge__node") == expected);
    CHECK(made.says("the columns 'src' and 'dst', not the first two"));
    CHECK(made.says("'time', 'extra'"));
    // As it is guessed.
    CHECK(edges_of(folder.by_guess().dataset, "node__edge__node") == expected);
  }
}

TEST_CASE("by place: an index before ends that no name tells, of text ids too") {
  CaseFolder folder;
  folder.write("e.csv", ",a,b\n0,ann,bob\n1,bob,cid\n");
  const NamedEdges expected{{"ann", "bob"}, {"bob", "cid"}};
  const auto made = folder.by_toml("[[nodes]]\nids = 'string'\n" + kPlainEdges);
  CHECK(edges_of(made.dataset, "node__edge__node") == expected);
  CHECK(made.says("'a' and 'b'"));
  CHECK(edges_of(folder.by_guess().dataset, "node__edge__node") == expected);
}

TEST_CASE("by place: Parquet's index beside edges and features") {
  CaseFolder folder;
  const auto& integers = arrow::int64();
  folder.write("e.parquet",
               parquet_of(*table_of({{"__index_level_0__", array_of(integers, "[7, 8, 9]")},
                                     {"a", array_of(integers, "[0, 1, 2]")},
                                     {"b", array_of(integers, "[1, 2, 0]")}})));
  folder.write("x.parquet",
               parquet_of(*table_of({{"f", array_of(arrow::float32(), "[1.5, 2.5, 3.5]")},
                                     {"__index_level_0__", array_of(integers, "[0, 1, 2]")}})));
  const auto made =
      folder.by_toml("[[nodes]]\nfeatures.file = 'x.parquet'\n[[edges]]\nfile = 'e.parquet'\n");
  CHECK((edges_of(made.dataset, "node__edge__node") ==
         NamedEdges{{"0", "1"}, {"1", "2"}, {"2", "0"}}));
  CHECK(features_of(folder, made.dataset) == std::vector<float>{1.5, 2.5, 3.5});
  CHECK(made.says("__index_level_0__"));
}

TEST_CASE("by place: the number of an edge, or its source?") {
  CaseFolder folder;
  folder.write("e.csv", "id,src,dst\n10,0,1\n11,1,2\n");
  CHECK((edges_of(folder.by_toml(kPlainEdges).dataset, "node__edge__node") ==
         NamedEdges{{"0", "1"}, {"1", "2"}}));
  folder.write("e.csv", "id,a,b\n10,0,1\n11,1,2\n");
  const std::string refused = folder.refusal(kPlainEdges);
  CHECK(has(refused, "data|ROOT/raw/e.csv: the first column is 'id'"));
  CHECK(has(refused, "'a' and 'b'"));
  CHECK(has(refused, "|say source_column and target_column"));
  // The guess takes the two behind what counts up.
  CHECK((edges_of(folder.by_guess().dataset, "node__edge__node") ==
         NamedEdges{{"0", "1"}, {"1", "2"}}));
  // A source that has many edges, or two columns alone, are the ends as ever.
  folder.write("e.csv", "id,friend,since\n0,1,5\n0,2,6\n");
  CHECK((edges_of(folder.by_toml(kPlainEdges).dataset, "node__edge__node") ==
         NamedEdges{{"0", "1"}, {"0", "2"}}));
  folder.write("e.csv", "id,friend\n0,1\n1,2\n");
  const auto two = folder.by_toml(kPlainEdges);
  CHECK((edges_of(two.dataset, "node__edge__node") == NamedEdges{{"0", "1"}, {"1", "2"}}));
  CHECK(two.said.empty());
}

TEST_CASE("by place: names of ends in other places are heeded, and said") {
  CaseFolder folder;
  folder.write("e.csv", "weight,source,target\n1,0,1\n2,1,2\n");
  const auto made = folder.by_toml(kPlainEdges);
  CHECK((edges_of(made.dataset, "node__edge__node") == NamedEdges{{"0", "1"}, {"1", "2"}}));
  CHECK(made.says("left out: 'weight'"));
  for (const char* header : {"src,dst\n", "u,v\n", "a,b\n"}) {
    folder.write("e.csv", std::string(header) + "0,1\n1,2\n");
    const auto plain = folder.by_toml(kPlainEdges);
    CHECK((edges_of(plain.dataset, "node__edge__node") == NamedEdges{{"0", "1"}, {"1", "2"}}));
    CHECK(plain.said.empty());
  }
}

TEST_CASE("by place: columns of edges that are left out are said") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst,w,note\n0,1,0.5,a\n1,2,1,b\n");
  CHECK(folder.by_toml(kPlainEdges).says("left out: 'w', 'note'"));
  CHECK(folder.by_toml(kPlainEdges + "weight_column = 'w'\n").said.empty());
  folder.write("e.txt", "0 1 5\n1 2 6\n");
  CHECK(folder.by_toml("[[edges]]\nfile = 'e.txt'\n").says("left out: 'c2'"));
}

TEST_CASE("by place: labels and features go by the ids beside them") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n1,2\n");
  folder.write("y.csv", "id,label\n2,0\n0,1\n1,1\n");
  folder.write("x.csv", "id,f0\n2,2.5\n0,0.5\n1,1.5\n");
  const auto labelled = folder.by_toml("[[nodes]]\nlabels.file = 'y.csv'\n" + kPlainEdges);
  CHECK(labels_of(labelled.dataset) == std::vector<std::int32_t>{1, 1, 0});
  CHECK(labelled.says("'id'"));
  const auto made = folder.by_toml("[[nodes]]\nfeatures.file = 'x.csv'\n" + kPlainEdges);
  CHECK(features_of(folder, made.dataset) == std::vector<float>{0.5, 1.5, 2.5});
  CHECK(made.says("'id'"));
  // The same said by key, of a matrix, of times and of more chunks of rows.
  const auto by_key = folder.by_toml(
      "[[nodes]]\nfeatures = { file = 'x.csv', columns = ['f0'], id_column = 'id' }\n" +
      kPlainEdges);
  CHECK(features_of(folder, by_key.dataset) == std::vector<float>{0.5, 1.5, 2.5});
  CHECK(by_key.said.empty());
  const auto named =
      folder.by_toml("[[nodes]]\nfeatures = { file = 'x.csv', columns = ['f0'] }\n" + kPlainEdges);
  CHECK(features_of(folder, named.dataset) == std::vector<float>{2.5, 0.5, 1.5});
  CHECK(named.says("features.id_column = \"id\""));
}

TEST_CASE("by place: ids that count the rows change nothing") {
  CaseFolder folder;
  folder.write("e.csv", kRing);
  folder.write("x.csv", "id,f0\n0,0.5\n1,1.5\n2,2.5\n3,3.5\n");
  folder.write("t.csv", ",time\n0,9\n1,8\n2,7\n3,6\n");
  const auto made =
      folder.by_toml("[[nodes]]\nfeatures.file = 'x.csv'\ntimes.file = 't.csv'\n" + kPlainEdges);
  CHECK(features_of(folder, made.dataset) == std::vector<float>{0.5, 1.5, 2.5, 3.5});
  CHECK(values_of<std::int64_t>(made.dataset.node_times("node")) ==
        std::vector<std::int64_t>{9, 8, 7, 6});
  CHECK(made.says("x.csv: features are all columns but 'id'"));
  CHECK(made.says("t.csv: times are the column 'time'"));
}

TEST_CASE("by place: rows under ids of a list, in any order") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst\nann,bob\nbob,cid\n");
  folder.write("n.csv", "who\nbob\ncid\nann\n");
  folder.write("x.csv", "who,f0,f1\nann,1,2\ncid,5,6\nbob,3,4\n");
  folder.write("t.csv", "who,time\ncid,3\nbob,2\nann,1\n");
  const auto made = folder.by_toml(
      "[[nodes]]\nids = 'string'\nid_list = { file = 'n.csv', column = 'who' }\n"
      "features.file = 'x.csv'\ntimes.file = 't.csv'\n" +
      kPlainEdges);
  CHECK(names_of(made.dataset, "node") == std::vector<std::string>{"bob", "cid", "ann"});
  CHECK(features_of(folder, made.dataset) == std::vector<float>{3, 4, 5, 6, 1, 2});
  CHECK(values_of<std::int64_t>(made.dataset.node_times("node")) ==
        std::vector<std::int64_t>{2, 3, 1});
  // Ids that the edges alone name.
  const auto collected = folder.by_toml(
      "[[nodes]]\nids = 'string'\nfeatures = { file = 'x.csv', id_column = 'who' }\n" +
      kPlainEdges);
  CHECK(names_of(collected.dataset, "node") == std::vector<std::string>{"ann", "bob", "cid"});
  CHECK(features_of(folder, collected.dataset) == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("by id: rows that are missing, twice or of nobody are errors") {
  CaseFolder folder;
  folder.write("e.csv", kRing);
  const std::string toml =
      "[[nodes]]\ncount = 4\nfeatures = { file = 'x.csv', id_column = 'id' }\n" + kPlainEdges;
  folder.write("x.csv", "id,f\n0,1\n1,2\n3,4\n");
  CHECK(has(folder.refusal(toml),
            "data|ROOT/raw/x.csv: 1 of the 4 nodes of type 'node' have no row here, the first is "
            "node 2|every node needs one row"));
  folder.write("x.csv", "id,f\n0,1\n1,2\n1,4\n");
  CHECK(
      has(folder.refusal(toml), "data|ROOT/raw/x.csv:4: column 'id': the id 1 stands here again"));
  folder.write("x.csv", "id,f\n0,1\n9,2\n");
  CHECK(has(folder.refusal(toml), "data|ROOT/raw/x.csv:3: column 'id': the id 9 is out of range"));
}

TEST_CASE("by place: id lists, splits, membership and labels of graphs") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst\n10,20\n20,30\n");
  folder.write("n.csv", ",id\n0,10\n1,20\n2,30\n");
  folder.write("train.csv", "index,node\n0,30\n1,10\n");
  const auto listed = folder.by_toml("[[nodes]]\nids = 'integer'\nid_list.file = 'n.csv'\n" +
                                     kPlainEdges + "[[splits]]\ntrain = 'train.csv'\n");
  CHECK(names_of(listed.dataset, "node") == std::vector<std::string>{"10", "20", "30"});
  CHECK(values_of<std::uint64_t>(listed.dataset.split("default").train) ==
        std::vector<std::uint64_t>{0, 2});
  CHECK(listed.says("n.csv: the first column, '', is an index"));
  CHECK(listed.says("train.csv: the first column, 'index', is an index"));

  folder.write("e.csv", "src,dst\n0,1\n2,3\n");
  folder.write("m.csv", "node_id,graph_id\n0,0\n1,0\n2,1\n3,1\n");
  folder.write("y.csv", ",label\n0,1\n1,0\n");
  const auto graphs =
      folder.by_toml(kPlainEdges + "[graphs]\nmembership.file = 'm.csv'\nlabels.file = 'y.csv'\n");
  CHECK(graphs.dataset.schema().graphs->count == 2);
  CHECK(graphs.dataset.schema().graphs->labels->width == 2);
  CHECK(graphs.says("m.csv: numbers ('graph_id') are of the other columns than 'node_id'"));
}

TEST_CASE("by place: features of edges are no ids") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst,a,b\n0,1,0.5,1\n1,2,1.5,2\n");
  folder.write("f.csv", "edge_id,a\n0,0.5\n1,1.5\n");
  const auto own = folder.by_toml(kPlainEdges + "features.file = 'e.csv'\n");
  CHECK(own.dataset.schema().relations[0].features.at(0).dim == 2);
  CHECK(own.says("'src', 'dst'"));
  const auto beside = folder.by_toml(kPlainEdges + "features.file = 'f.csv'\n");
  CHECK(beside.dataset.schema().relations[0].features.at(0).dim == 1);
  CHECK(beside.says("'edge_id'"));
}

TEST_CASE("by place: the guess of rows with ids in any order") {
  CaseFolder folder;
  folder.write("edges.csv", kRing);
  folder.write("features.csv", "id,f0,f1\n2,20.5,21.5\n0,0.5,1.5\n3,30.5,31.5\n1,10.5,11.5\n");
  folder.write("labels.csv", "id,label\n3,1\n1,0\n0,2\n2,1\n");
  const auto made = folder.by_guess();
  CHECK(made.said.empty());
  CHECK(names_of(made.dataset, "node") == std::vector<std::string>{"0", "1", "2", "3"});
  CHECK(features_of(folder, made.dataset) ==
        std::vector<float>{0.5, 1.5, 10.5, 11.5, 20.5, 21.5, 30.5, 31.5});
  CHECK(labels_of(made.dataset) == std::vector<std::int32_t>{2, 0, 1, 1});
}

TEST_CASE("by place: the guess of rows with text ids, and with ids from 1") {
  CaseFolder folder;
  folder.write("edges.csv", "src,dst\nann,bob\nbob,cid\n");
  folder.write("features.csv", "name,f0\nbob,2\nann,1\ncid,3\n");
  folder.write("labels.csv", "name,label\ncid,1\nann,0\nbob,0\n");
  const auto texts = folder.by_guess();
  CHECK(names_of(texts.dataset, "node") == std::vector<std::string>{"bob", "ann", "cid"});
  CHECK(features_of(folder, texts.dataset) == std::vector<float>{2, 1, 3});
  CHECK(labels_of(texts.dataset) == std::vector<std::int32_t>{0, 0, 1});
  folder.write("edges.csv", "src,dst\n1,2\n2,3\n");
  folder.write("features.csv", "id,f0\n2,2\n1,1\n3,3\n");
  folder.write("labels.csv", ",label\n0,0\n1,0\n2,1\n");
  const auto counted = folder.by_guess();
  CHECK(names_of(counted.dataset, "node") == std::vector<std::string>{"1", "2", "3"});
  CHECK(features_of(folder, counted.dataset) == std::vector<float>{1, 2, 3});
  CHECK(labels_of(counted.dataset) == std::vector<std::int32_t>{0, 0, 1});
}
