// OpenKE's folders of triples by number.
#include "layout_support.h"
#include "support/expect_error.h"

#include <fmt/format.h>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("openke: triples, their types and a split of edges") {
  LayoutFolder folder;
  const std::string long_name(300, 'x');  // longer than a folder's name may be
  folder.write("FB/entity2id.txt", "5\n/m/0a\t0\n/m/0b\t1\n/m/0c\t2\n/m/0d\t3\n/m/0e\t4\n");
  folder.write("FB/relation2id.txt", "2\n/a/b\t0\n" + long_name + "\t1\n");
  folder.write("FB/train2id.txt", "4\n0 1 0\n1 2 1\n3 2 0\n0 1 1\n");
  folder.write("FB/valid2id.txt", "1\n2 3 1\n");
  folder.write("FB/test2id.txt", "2\n1 0 0\n4 0 1\n");
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  CHECK(described.toml.find("layout \"openke\": there are FB/train2id.txt and FB/entity2id.txt") !=
        std::string::npos);
  const Dataset dataset = folder.dataset(described);
  CHECK(dataset.schema().nodes[0].count == 5);  // the last is in no training triple
  const std::string key = dataset.schema().relations[0].key();
  CHECK((in_edges(dataset, key) == in_edges(5, {{0, 1}, {1, 2}, {3, 2}, {0, 1}})));
  REQUIRE(dataset.schema().relations[0].labels);
  const std::vector<std::string>& names = dataset.schema().relations[0].labels->names;
  const auto types = values_of<std::int32_t>(dataset.edge_labels(key));
  REQUIRE(types.size() == 4);
  CHECK((names == std::vector<std::string>{"/a/b", long_name}));
  CHECK((types == std::vector<std::int32_t>{0, 1, 0, 1}));
  CHECK(dataset.schema().nodes[0].ids == IdKind::kString);
  const ExternalIds ids = dataset.ids("entity");
  CHECK(ids.text(0) == "/m/0a");
  CHECK(ids.text(4) == "/m/0e");
  const EdgeSplit split = dataset.edge_split("default");
  CHECK(split.valid.size(0) == 1);
  CHECK(split.test.size(0) == 2);
  const auto rows = values_of<std::uint64_t>(split.test);
  CHECK(rows[2] == 1);
  CHECK(rows[3] == 0);
  CHECK(rows[7] == 4);
}

TEST_CASE("openke: names in any order, with blanks; a type that only valid has") {
  LayoutFolder folder;
  folder.write("entity2id.txt", "3\nof two\t2\nNew York\t0\n# one\t1\n");
  folder.write("relation2id.txt", "3\nis in\t1\nlikes\t0\nnever seen\t2\n");
  folder.write("train2id.txt", "2\n0 1 1\n1 2 0\n");
  folder.write("valid2id.txt", "1\n2 1 2\n");
  const Dataset dataset = folder.dataset(folder.describe());
  const ExternalIds ids = dataset.ids("entity");
  CHECK(ids.text(0) == "New York");
  CHECK(ids.text(1) == "# one");
  CHECK(ids.text(2) == "of two");
  CHECK((dataset.schema().relations[0].labels->names ==
         std::vector<std::string>{"likes", "is in", "never seen"}));
  CHECK(values_of<std::uint64_t>(dataset.edge_split("default").valid)[1] == 2);
}

TEST_CASE("openke: a file without its count says so") {
  LayoutFolder folder;
  folder.write("entity2id.txt", "/m/0a\t0\n");
  folder.write("train2id.txt", "1\n0 0 0\n");
  try {
    (void)folder.describe();
    FAIL("described");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.message() == "the first line is not the number of lines that follow");
    CHECK(error.place().line == 1);
  }
}

TEST_CASE("openke: counts and names that are not what they say are told with their line") {
  const auto failure = [](const std::string& file, const std::string& text) {
    LayoutFolder folder;
    folder.write("entity2id.txt", "3\na\t0\nb\t1\nc\t2\n");
    folder.write("relation2id.txt", "1\nlikes\t0\n");
    folder.write("train2id.txt", "2\n0 1 0\n1 2 0\n");
    folder.write(file, text);
    return expect_error([&] { (void)folder.dataset(folder.describe()); });
  };
  struct Case {
    const char *file, *text, *said;
    std::int64_t line;
  };
  for (const auto& [file, text, said, line] :
       {Case{"entity2id.txt",
             "4\na\t0\nb\t1\nc\t2\n",
             "the first line says 4 rows, and there are 3",
             1},
        Case{"relation2id.txt",
             "1\nlikes\t0\nhates\t1\n",
             "the first line says 1 rows, and there are 2",
             1},
        Case{"train2id.txt", "3\n0 1 0\n", "the first line says 3 rows, and there are 1", 1},
        Case{"entity2id.txt",
             "3 entities\na\t0\n",
             "the first line is not the number of lines that follow",
             1},
        Case{"entity2id.txt",
             "99999999999999999999999\na\t0\n",
             "the number '99999999999999999999999' in the first line does not fit",
             1},
        Case{"train2id.txt", "99999999999999999999999\n0 1 0\n", "is not the number of rows", 1},
        Case{"entity2id.txt",
             "3\nNew York 0\nb 1\nc 2\n",
             "3 fields in a line of names, which has 2: name, number",
             2},
        Case{"entity2id.txt",
             "3\na\t0\nb\tx\t1\nc\t2\n",
             "3 fields, but the first line has 2",
             3}}) {
    CAPTURE(std::string(text));
    const Error error = failure(file, text);
    CHECK(error.code() == ErrorCode::kData);
    CHECK_MESSAGE(std::string(error.message()).find(said) != std::string::npos, error.message());
    CHECK(error.place().file.find(file) != std::string::npos);
    CHECK(error.place().line == line);
  }
}

TEST_CASE("triples: numbers beside files of names are read with these") {
  LayoutFolder folder;
  folder.write("kg/entities.txt", "rome\nparis\nberlin\noslo\n");
  folder.write("kg/relations.txt", "near\nlarger\nnever_seen\n");
  folder.write("kg/train.txt", "0\t1\t2\n2\t0\t1\n");
  folder.write("kg/valid.txt", "3\t1\t0\n");
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  CHECK(described.toml.find("layout \"triples\": there are kg/train.txt") != std::string::npos);
  const Dataset dataset = folder.dataset(described);
  CHECK(dataset.schema().nodes[0].name == "entity");
  CHECK(dataset.schema().nodes[0].count == 4);
  CHECK(dataset.ids("entity").text(1) == "paris");
  const RelationSchema& relation = dataset.schema().relations.at(0);
  CHECK((relation.labels->names == std::vector<std::string>{"near", "larger", "never_seen"}));
  CHECK((in_edges(dataset, relation.key()) == in_edges(4, {{0, 2}, {2, 1}})));
  const auto valid = values_of<std::uint64_t>(dataset.edge_split("default").valid);
  CHECK((valid == std::vector<std::uint64_t>{0, 1, 3, 0, 1}));
}

TEST_CASE("triples: of numbers without names the guess says that they may be some") {
  LayoutFolder folder;
  std::string text, weights;
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("{}\t{}\t{}\n", i % 30, i % 4, (i * 7 + 1) % 30);
    weights += fmt::format("{}\t{}\t{}\n", i % 30, (i * 7 + 1) % 30, i % 4);
  }
  const auto doubted = [&](const std::string& lines) {
    folder.write("graph.txt", lines);
    std::string toml = folder.describe().toml;
    for (auto at = toml.find("\n# "); at != std::string::npos; at = toml.find("\n# "))
      toml.replace(at, 3, " ");
    return toml.find("Or are these triples? The column c1 has 4 values only") != std::string::npos;
  };
  CHECK(doubted(text));
  CHECK_FALSE(doubted(weights));
}

TEST_CASE("triples of many types are described as one relation of labels") {
  LayoutFolder folder;
  std::string few, many;
  for (int i = 0; i < 200; ++i) {
    few += fmt::format("e{}\tr{}\te{}\n", i, i % 5, (i * 7) % 200);
    many += fmt::format("e{}\tr{}\te{}\n", i, i % 50, (i * 7) % 200);
  }
  folder.write("train.txt", many);
  folder.write("valid.txt", "e1\tr1\te9\n");
  const auto described = folder.describe();
  CHECK(described.spec.edges.at(0).types == EdgeTypes::kLabels);
  CHECK(described.toml.find("There are 50 types: one relation of them") != std::string::npos);
  LayoutFolder other;
  other.write("train.txt", few);
  other.write("valid.txt", "e1\tr1\te9\n");
  CHECK(other.describe().spec.edges.at(0).types == EdgeTypes::kRelations);
}
