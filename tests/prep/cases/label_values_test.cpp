// Labels that are no classes 0, 1, 2, ...: numbers of something, words, and what stands for none.
#include "roles_folder.h"

#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kLabelEdges = "src,dst\n0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n";
const std::vector<std::int64_t> kAccounts{10, 153'000'000, 10, -1, 153'000'000, 10};
const std::vector<std::int32_t> kTwoClasses{0, 1, 0, -1, 1, 0};

std::string labels_toml(const std::string& labels) {
  return "[[nodes]]\ncount = 6\nlabels = { " + labels + " }\n[[edges]]\nfile = 'e.csv'\n";
}

std::string lines(const std::vector<std::int64_t>& values) {
  return fmt::format("y\n{}\n", fmt::join(values, "\n"));
}

}  // namespace

TEST_CASE("labels by name: -1 is no label, in every format, and that is said") {
  RolesFolder folder;
  folder.write("e.csv", kLabelEdges);
  const auto array = array_of(arrow::int64(), fmt::format("[{}]", fmt::join(kAccounts, ",")));
  const std::vector<std::pair<std::string, std::string>> files{
      {"y.npy", npy_ids(kAccounts)},
      {"y.npz", npz({{"y.npy", npy_ids(kAccounts)}})},
      {"y.csv", lines(kAccounts)},
      {"y.tsv", lines(kAccounts)},
      {"y.txt", lines(kAccounts).substr(2)},
      {"y.parquet", parquet_of(*table_of({{"y", array}}))},
      {"y.arrow", ipc_of(*table_of({{"y", array}}))},
      {"f.npy", npy_of<double>("<f8", {10, 153e6, 10, -1, 153e6, 10})}};
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    folder.write(name, content);
    const std::string said = folder.listen(labels_toml("file = '" + name + "', kind = 'name'"));
    CHECK(folder.classes() == kTwoClasses);
    CHECK(folder.class_names() == std::vector<std::string>{"10", "153000000"});
    CHECK(says(said, "1 rows say -1, which is no label; labels.none = [\"\"]"));
    folder.listen(labels_toml("file = '" + name + "', kind = 'name', none = ['']"));
    CHECK(folder.class_names() == std::vector<std::string>{"-1", "10", "153000000"});
    CHECK(folder.classes() == std::vector<std::int32_t>{1, 2, 1, 0, 2, 1});
  }
}

TEST_CASE("labels by name: of edges -1 is no label, of graphs it is a class") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst,y\n0,1,7\n1,2,-1\n2,3,700\n");
  folder.listen("[[edges]]\nfile = 'e.csv'\nlabels = { columns = ['y'], kind = 'name' }\n");
  const Dataset dataset = folder.opened();
  CHECK(dataset.schema().relations[0].labels->names == std::vector<std::string>{"7", "700"});
  CHECK(as_vector<std::int32_t>(dataset.edge_labels("node__edge__node")) ==
        std::vector<std::int32_t>{0, -1, 1});

  folder.write("M_A.txt", "1, 2\n3, 4\n");
  folder.write("M_graph_indicator.txt", "1\n1\n2\n2\n");
  folder.write("M_graph_labels.txt", "-1\n1\n");
  folder.listen_to_guess({"M_A.txt", "M_graph_indicator.txt", "M_graph_labels.txt"});
  CHECK(folder.opened().schema().graphs->labels->names == std::vector<std::string>{"-1", "1"});
}

TEST_CASE("labels: values that stand for none, numbers and words, of every kind") {
  RolesFolder folder;
  folder.write("e.csv", kLabelEdges);
  folder.write("words.csv", "id,y\n0,red\n1,unknown\n2,blue\n3,red\n4,\n5,blue\n");
  folder.listen(
      labels_toml("file = 'words.csv', columns = ['y'], kind = 'name', none = ['unknown']"));
  CHECK(folder.classes() == std::vector<std::int32_t>{1, -1, 0, 1, -1, 0});

  folder.write("mixed.csv", "y\n0\nunknown\n2\n1\nn/a\n0\n");
  folder.listen(labels_toml("file = 'mixed.csv', none = ['unknown', 'n/a']"));
  CHECK(folder.classes() == std::vector<std::int32_t>{0, -1, 2, 1, -1, 0});
  folder.listen(labels_toml("file = 'mixed.csv', kind = 'class', none = ['unknown', 'n/a', '2']"));
  CHECK(folder.classes() == std::vector<std::int32_t>{0, -1, -1, 1, -1, 0});

  folder.write("y.npy", npy("|u1", "(6,)", std::string("\0\1\xff\1\0\2", 6)));
  const std::string said = folder.listen(labels_toml("file = 'y.npy'"));
  CHECK(says(said, "4 of 256 classes occur"));
  CHECK(says(said, "labels.none = [\"255\"]"));
  CHECK(folder.listen(labels_toml("file = 'y.npy', none = ['255']")).find("occur") ==
        std::string::npos);
  CHECK(folder.classes() == std::vector<std::int32_t>{0, 1, -1, 1, 0, 2});
  CHECK(folder.opened().schema().node_type("node")->labels->width == 3);

  folder.write("t.csv", "y\n0.5\n-999\nNA\n1.5\n2\n3\n");
  folder.listen(labels_toml("file = 't.csv', kind = 'regression', none = ['-999', 'NA']"));
  const auto targets = as_vector<float>(folder.opened().labels("node"));
  CHECK(std::isnan(targets[1]));
  CHECK(std::isnan(targets[2]));
  CHECK(targets[3] == 1.5f);

  folder.write("m.npy", npy("|i1", "(6, 2)", std::string(12, '\1')));
  std::filesystem::remove_all(folder.out());
  CHECK(says(folder.refusal(labels_toml("file = 'm.npy', none = ['1']")), "labels.none is of one"));
}

TEST_CASE("labels: that most classes have no row is said, for numbers large and small") {
  RolesFolder folder;
  folder.write("e.csv", kLabelEdges);
  folder.write("y.npy", npy_ids(kAccounts));
  const std::string large = folder.listen(labels_toml("file = 'y.npy'"));
  CHECK(says(large, "warning: y.npy: 2 of 153,000,001 classes occur"));
  CHECK(says(large, "labels.kind = \"name\""));
  folder.write("y.csv", "y\n0\n9\n0\n9\n0\n9\n");
  CHECK(says(folder.listen(labels_toml("file = 'y.csv'")), "2 of 10 classes occur"));
  folder.write("by.csv", "id,y\n0,0\n3,9\n");
  CHECK(says(folder.listen(labels_toml("file = 'by.csv', id_column = 'id'")),
             "2 of 10 classes occur"));
  folder.write("y.csv", "y\n0\n2\n0\n2\n0\n-1\n");
  CHECK(folder.listen(labels_toml("file = 'y.csv'")).find("occur") == std::string::npos);
  folder.write("y.csv", "y\n0\n9\n0\n9\n0\n9\n");
  CHECK(folder.listen(labels_toml("file = 'y.csv', classes = 40")).find("occur") ==
        std::string::npos);
}

TEST_CASE("labels: what the guess takes for names has no class -1 either") {
  RolesFolder folder;
  folder.write("edges.csv", kLabelEdges);
  folder.write("labels.npy", npy_ids(kAccounts));
  folder.write("features.npy", npy_rows(6, 1, {0, 1, 2, 3, 4, 5}));
  folder.listen_to_guess();
  CHECK(folder.class_names() == std::vector<std::string>{"10", "153000000"});
  CHECK(folder.classes() == kTwoClasses);
}

TEST_CASE("labels: -1 of classes is none, -100 is refused, a matrix is many a node") {
  RolesFolder folder;
  folder.write("e.csv", kLabelEdges);
  folder.write("y.npy", npy_ids({0, 1, -1, 0, 1, 1}));
  folder.listen(labels_toml("file = 'y.npy', kind = 'class'"));
  CHECK(folder.classes() == std::vector<std::int32_t>{0, 1, -1, 0, 1, 1});
  folder.write("m.npy", npy("|i1", "(6, 2)", std::string(12, '\1')));
  folder.listen(labels_toml("file = 'm.npy'"));
  CHECK(folder.opened().schema().node_type("node")->labels->kind == LabelKind::kMultiLabel);
  folder.write("y.npy", npy_ids({0, 1, -100, 0, 1, 1}));
  std::filesystem::remove_all(folder.out());
  const std::string text = folder.refusal(labels_toml("file = 'y.npy'"));
  CHECK(says(text, "row 2: the label -100 is negative"));
  CHECK(says(text, "labels.none"));
}

TEST_CASE("labels: a column of words is classes by name, in the order in which they appear") {
  RolesFolder folder;
  folder.write("e.csv", kLabelEdges);
  const auto words = array_of(arrow::utf8(), R"(["Rome","Oslo",null,"Rome","Lima","Oslo"])");
  const std::vector<std::pair<std::string, std::string>> files{
      {"y.csv", "id,city\n0,Rome\n1,Oslo\n2,\n3,Rome\n4,Lima\n5,Oslo\n"},
      {"y.parquet", parquet_of(*table_of({{"city", words}}))},
      {"y.arrow", ipc_of(*table_of({{"city", words}}))}};
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    folder.write(name, content);
    const std::string said =
        folder.listen(labels_toml("file = '" + name + "', columns = ['city'], kind = 'auto'"));
    CHECK(folder.class_names() == std::vector<std::string>{"Rome", "Oslo", "Lima"});
    CHECK(folder.classes() == std::vector<std::int32_t>{0, 1, -1, 0, 2, 1});
    CHECK(
        says(said, "3 classes by name, in the order in which they first appear: Rome, Oslo, Lima"));
  }
  folder.listen(labels_toml("file = 'y.csv', columns = ['city'], id_column = 'id'"));
  CHECK(folder.class_names() == std::vector<std::string>{"Rome", "Oslo", "Lima"});
  folder.listen(labels_toml("file = 'y.csv', columns = ['city'], kind = 'name'"));
  CHECK(folder.class_names() == std::vector<std::string>{"Lima", "Oslo", "Rome"});

  folder.write("k.csv", "src,dst,kind\n0,1,likes\n1,2,knows\n2,3,likes\n");
  folder.listen("[[edges]]\nfile = 'k.csv'\nlabels.columns = ['kind']\n");
  CHECK(folder.opened().schema().relations[0].labels->names ==
        std::vector<std::string>{"likes", "knows"});
}

TEST_CASE("labels: words among numbers are refused where they stand, with both ways out") {
  RolesFolder folder;
  folder.write("e.csv", kLabelEdges);
  folder.write("y.csv", "y\n0\n1\nNA\n0\n1\n0\n");
  const std::string late = folder.refusal(labels_toml("file = 'y.csv'"));
  CHECK(says(late, "ROOT/raw/y.csv:4: column 'y': 'NA' is not"));
  CHECK(says(late, "labels.kind = \"name\""));
  CHECK(says(late, "labels.none"));
  folder.write("y.csv", "y\nNA\n1\n0\n0\n1\n0\n");
  const std::string early = folder.refusal(labels_toml("file = 'y.csv'"));
  CHECK(says(early, "ROOT/raw/y.csv:3: column 'y': '1' is a number, and 'NA' before it is none"));
  folder.listen(labels_toml("file = 'y.csv', none = ['NA']"));
  CHECK(folder.classes() == std::vector<std::int32_t>{-1, 1, 0, 0, 1, 0});
}

TEST_CASE("labels: -1 as pandas writes it is no label by name, and beside one class it is told") {
  RolesFolder folder;
  folder.write("e.csv", kLabelEdges);
  folder.write("y.csv", "y\n10.0\n-1.0\n153.0\n\"\"\n10.0\n153.0\n");
  CHECK(says(folder.listen(labels_toml("file = 'y.csv', kind = 'name'")), "1 rows say -1"));
  CHECK(folder.class_names() == std::vector<std::string>{"10.0", "153.0"});
  CHECK(folder.classes() == std::vector<std::int32_t>{0, -1, 1, -1, 0, 1});
  folder.write("y.csv", "y\n1\n-1\n1\n-1\n1\n1\n");
  const std::string toml = labels_toml("file = 'y.csv'");
  CHECK(says(folder.listen(toml), "2 rows say -1, which is no label"));
  folder.write("y.csv", "y\n1\n-1\n0\n-1\n1\n1\n");
  CHECK(folder.listen(toml).find("say -1") == std::string::npos);
  folder.write("labels.npy", npy_of<std::int64_t>("<i8", {1, -1, 1, -1, 1, 1}));
  CHECK(says(folder.describe({"e.csv", "labels.npy"}).toml, "-1 is no label"));
}

TEST_CASE("labels: rows of one 1 and else 0, and classes that begin with 1, are told") {
  RolesFolder folder;
  folder.write("e.csv", kLabelEdges);
  const std::string toml = labels_toml("file = 'y.npy'");
  const auto floats = [](const std::vector<float>& values) {
    return npy("<f4", "(6, 2)", bytes_of_values(values));
  };
  folder.write("y.npy", floats({1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1}));
  CHECK(says(folder.listen(toml), "y.npy: each row has one 1 and else 0"));
  folder.write("labels.npy", floats({1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1}));
  CHECK(says(folder.describe({"e.csv", "labels.npy"}).toml, "# Several floats a row: amounts"));
  folder.write("y.npy", floats({1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 1}));
  CHECK(folder.listen(toml).find("one 1") == std::string::npos);
  folder.write("y.npy", npy("|i1", "(6, 2)", std::string("\1\0\0\1\1\0\1\0\0\1\1\0", 12)));
  CHECK(says(folder.listen(toml), "many classes a row (\"multi_label\")"));
  CHECK(folder.listen(labels_toml("file = 'y.npy', kind = 'multi_label'")).find("one 1") ==
        std::string::npos);

  folder.write("y.npy", npy_of<std::int64_t>("<i8", {1, 2, 3, 1, 2, 3}));
  CHECK(says(folder.listen(toml), "y.npy: the labels begin with 1: class 0 is one of 4"));
  CHECK(folder.listen(labels_toml("file = 'y.npy', kind = 'class'")).find("begin with") ==
        std::string::npos);
  folder.write("y.npy", npy_of<std::int64_t>("<i8", {1, 2, 0, 1, 2, 3}));
  CHECK(folder.listen(toml).find("begin with") == std::string::npos);
}
