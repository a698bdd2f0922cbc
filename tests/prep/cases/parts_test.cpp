// Folders of parts: which files are one table, in which order, and what is passed over.
#include "case_folder.h"
#include "prep/arrow_files.h"
#include "prep/table/shards.h"

using namespace sluice;
using namespace sluice::test;

namespace {

const NamedEdges kChain{{"0", "1"}, {"1", "2"}, {"2", "3"}};

std::string edges_parquet(const std::string& sources, const std::string& targets) {
  return parquet_of(*table_of(
      {{"src", array_of(arrow::int64(), sources)}, {"dst", array_of(arrow::int64(), targets)}}));
}

}  // namespace

TEST_CASE("parts: the guess puts parts of a folder together, in every format") {
  for (const bool compressed : {false, true}) {
    CaseFolder folder;
    const std::string end = compressed ? ".csv.gz" : ".csv";
    const auto write = [&](const std::string& name, const std::string& text) {
      folder.write(name + end, compressed ? gzip(text) : text);
    };
    folder.write("edges/_SUCCESS", "");
    folder.write("edges/.part-00000.csv.crc", "x");
    write("edges/part-00000", "src,dst\n0,1\n1,2\n");
    write("edges/part-00001", "src,dst\n2,3\n");
    write("edges/part-00002", "");  // empty
    const auto described = folder.describe();
    CHECK(described.warnings.empty());
    CHECK(described.spec.edges.at(0).file == "edges/part-*" + end);
    const auto made = folder.by_guess(described);
    CHECK(edges_of(made.dataset, "node__edge__node") == kChain);
    CHECK(made.says("part-00002" + end));
  }
  CaseFolder parquet;
  parquet.write("edges/part-0.parquet", edges_parquet("[0, 1]", "[1, 2]"));
  parquet.write("edges/part-1.parquet", edges_parquet("[2]", "[3]"));
  parquet.write("edges/_metadata", "x");
  CHECK(edges_of(parquet.by_guess().dataset, "node__edge__node") == kChain);
  CaseFolder arrays;
  arrays.write("edges_0.npy", npy_pairs("(2, 2)", {0, 1, 1, 2}));
  arrays.write("edges_1.npy", npy_pairs("(1, 2)", {2, 3}));
  arrays.write("feat_0.npy", npy_rows(2, 1, {1, 2}));
  arrays.write("feat_1.npy", npy_rows(2, 1, {3, 4}));
  const auto made = arrays.by_guess();
  CHECK(edges_of(made.dataset, "node__edge__node") == kChain);
  CHECK(features_of(arrays, made.dataset) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("parts: names with UUIDs, and other files beside them") {
  const std::string uuid = "-0e1f3a52-7d7b-4a6e-9d0b-000000000000-c000.csv";
  CaseFolder folder;
  folder.write("edges/part-00000" + uuid, "src,dst\n0,1\n1,2\n");
  folder.write("edges/part-00001" + uuid, "");
  folder.write("edges/part-00002" + uuid, "src,dst\n2,3\n");
  for (const char* file : {"edges/part-*.csv", "edges", "edges/"}) {
    CAPTURE(file);
    const auto made = folder.by_toml(fmt::format("[[edges]]\nfile = '{}'\n", file));
    CHECK(edges_of(made.dataset, "node__edge__node") == kChain);
    CHECK(made.says("1 of its 3 files is empty, and passed over"));
    CHECK(made.says("part-00001"));
  }
  CHECK(edges_of(folder.by_guess().dataset, "node__edge__node") == kChain);
}

TEST_CASE("parts: names that begin with _ do not count, but for patterns that do") {
  CaseFolder folder;
  folder.write("e/_SUCCESS", "");
  folder.write("e/_meta.csv", "no table\n");
  folder.write("e/a.csv", "s,t\n0,1\n1,2\n2,3\n");
  for (const char* file : {"e", "e/*", "e/*.csv"}) {
    CAPTURE(file);
    const auto made = folder.by_toml(fmt::format("[[edges]]\nfile = '{}'\n", file));
    CHECK(edges_of(made.dataset, "node__edge__node") == kChain);
  }
  folder.write("e/_b.csv", "s,t\n0,1\n");
  CHECK((edges_of(folder.by_toml("[[edges]]\nfile = 'e/_b*'\n").dataset, "node__edge__node") ==
         NamedEdges{{"0", "1"}}));
}

TEST_CASE("parts: empty ones of rows are passed over, headers alone are parts") {
  CaseFolder folder;
  folder.write("e.csv", "s,t\n0,1\n1,2\n");
  folder.write("x/part-0.csv", "f\n1\n");
  folder.write("x/part-1.csv", "f\n");
  folder.write("x/part-2.csv", "\n");
  folder.write("x/part-3.csv", "f\n2\n3\n");
  const auto made = folder.by_toml("[[nodes]]\nfeatures.file = 'x'\n[[edges]]\nfile = 'e.csv'\n");
  CHECK(features_of(folder, made.dataset) == std::vector<float>{1, 2, 3});
  CHECK(made.says("1 of its 4 files is empty"));
  CaseFolder empty;
  empty.write("e/part-0.csv", "");
  empty.write("e/part-1.csv", "");
  CHECK(empty.refusal("[[edges]]\nfile = 'e'\n") ==
        "data|ROOT/raw/e: all of its 2 files are empty|write them again, or leave this table out");
}

TEST_CASE("parts: folders KEY=VALUE are relations, or one table of rows") {
  CaseFolder folder;
  folder.write("edges/kind=likes/part-00000.csv", "src,dst\n0,1\n1,2\n");
  folder.write("edges/kind=likes/part-00001.csv", "src,dst\n2,3\n");
  folder.write("edges/kind=knows/part-00000.csv", "src,dst\n3,0\n");
  const auto described = folder.describe();
  CHECK(has(on_one_line(described.toml), "a relation for each value"));
  const auto made = folder.by_guess(described);
  CHECK(edges_of(made.dataset, "node__likes__node") == kChain);
  CHECK((edges_of(made.dataset, "node__knows__node") == NamedEdges{{"3", "0"}}));
  // A column that the folders' names alone have is an error as ever, as is the folder's name.
  CHECK(has(folder.refusal("[[edges]]\nfile = 'edges/*/*.csv'\ntype_column = 'kind'\n"),
            "there is no column 'kind'"));
  CHECK(has(folder.refusal("[[edges]]\nfile = 'edges'\n"),
            "|files lie in its folders (kind=knows, kind=likes): name them, file = \"edges/*/*\""));

  CaseFolder days;
  days.write("edges/date=2020-01-01/part-0.csv", "src,dst\n0,1\n1,2\n");
  days.write("edges/date=2020-01-02/part-0.csv", "src,dst\n2,3\n");
  CHECK(edges_of(days.by_guess().dataset, "node__edge__node") == kChain);
}

TEST_CASE("parts: files with other columns, or of numbers that count no parts, stay apart") {
  CaseFolder folder;
  folder.write("edges_1.csv", "src,dst\n0,1\n");
  folder.write("edges_2.csv", "src,dst,w\n1,2,0.5\n");
  const auto described = folder.describe();
  CHECK(has(on_one_line(described.toml), "they look like parts of one table, and are none"));
  CHECK(folder.by_guess(described).dataset.schema().relations.size() == 2);
  CaseFolder years;
  years.write("edges_2019.csv", "src,dst\n0,1\n");
  years.write("edges_2020.csv", "src,dst\n1,2\n");
  CHECK(years.by_guess().dataset.schema().relations.size() == 2);
  CaseFolder splits;
  splits.write("edges.csv", "src,dst\n0,1\n1,2\n2,0\n");
  for (const char* part : {"train", "val", "test"})
    for (const char* number : {"0", "1"})
      splits.write(fmt::format("{}_{}.npy", part, number), npy_ids({part[0] == 't' ? 0 : 1}));
  splits.write("labels.npy", npy_ids({0, 1, 0}));
  CHECK(splits.describe().spec.splits.size() == 2);
}

TEST_CASE("parts: numbers in names count as numbers") {
  CaseFolder folder;
  std::string edges = "src,dst\n";
  std::vector<float> expected;
  for (int i = 0; i <= 10; ++i) {
    edges += fmt::format("{},{}\n", i, (i + 1) % 11);
    folder.write(fmt::format("x/feat_{}.npy", i), npy_rows(1, 1, {static_cast<float>(i)}));
    folder.write(fmt::format("y/part{}-of-11.csv", i), fmt::format("y\n{}\n", 10 - i));
    expected.push_back(static_cast<float>(i));
  }
  folder.write("e.csv", edges);
  for (const char* file : {"x/feat_*.npy", "x"}) {
    const auto made = folder.by_toml(fmt::format(
        "[[nodes]]\nfeatures.file = '{}'\nlabels.file = 'y'\n[[edges]]\nfile = 'e.csv'\n", file));
    CHECK(features_of(folder, made.dataset) == expected);
    CHECK(labels_of(made.dataset) == std::vector<std::int32_t>{10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
    CHECK(made.says("in the order of the numbers in their names"));
  }
}

TEST_CASE("parts: edges beside their features, both in the order of their numbers") {
  CaseFolder folder;
  for (const int i : {2, 10, 1}) {
    folder.write(fmt::format("e/{}.csv", i), fmt::format("s,t\n{},{}\n", i, i + 1));
    folder.write(fmt::format("f/{}.npy", i), npy_rows(1, 1, {static_cast<float>(i)}));
  }
  const auto made = folder.by_toml("[[edges]]\nfile = 'e'\nfeatures.file = 'f'\n");
  const auto ids = edge_ids(made.dataset, "node__edge__node");
  // In-edges by target: 1→2, 2→3, 10→11.
  CHECK(ids == std::vector<std::uint64_t>{0, 1, 2});
}

TEST_CASE("parts: the order of names") {
  const std::vector<std::filesystem::path> ordered{"a/part-2",
                                                   "a/part-10",
                                                   "b/part-00",
                                                   "b/part-01",
                                                   "b2/x",
                                                   "b10/x",
                                                   "c/1_2",
                                                   "c/1_10",
                                                   "c/2_1",
                                                   "d/a",
                                                   "d/b"};
  for (std::size_t i = 0; i < ordered.size(); ++i)
    for (std::size_t k = 0; k < ordered.size(); ++k) {
      CAPTURE(ordered[i].string());
      CAPTURE(ordered[k].string());
      CHECK(numbered_less(ordered[i], ordered[k]) == (i < k));
    }
}
