// Hints fit what is asked; and no edge leaves its graph.
#include "roles_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

struct Hinted {
  std::string file, content, toml;
  std::string place, hint;       // parts of the text
  std::string never = "@none@";  // and what is not in it
};

void check_hints(const std::vector<Hinted>& all) {
  for (const Hinted& one : all) {
    CAPTURE(one.file);
    CAPTURE(one.toml);
    RolesFolder folder;
    folder.write("e.csv", "src,dst\n0,1\n1,2\n");
    folder.write(one.file, one.content);
    const std::string text = folder.refusal(one.toml);
    CHECK(says(text, one.place));
    CHECK(says(text, one.hint));
    CHECK(text.find(one.never) == std::string::npos);
  }
}

const std::string kHintEdges = "[[edges]]\nfile = 'e.csv'\n";
const std::string kNoStringIds = "ids = \"string\"";

std::string one_column(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return parquet_of(
      *table_of({{"v", array_of(type, json)}, {"w", array_of(arrow::int64(), "[0,1,2]")}}));
}

}  // namespace

TEST_CASE("hints: dates and fractions where times are asked") {
  const std::string times = "[[edges]]\nfile = 't.csv'\ntime_column = 't'\n";
  check_hints({{"t.csv",
                "src,dst,t\n0,1,2015-05-19 13:44:07\n",
                times,
                "t.csv:2: column 't': '2015-05-19 13:44:07' is not",
                "times are whole numbers, such as seconds",
                kNoStringIds},
               {"t.csv",
                "src,dst,t\n0,1,2015-05-22T20:38:29Z\n",
                times + "time_scale = 1\n",
                "t.csv:2: column 't'",
                "times are whole numbers, such as seconds",
                kNoStringIds},
               {"t.csv", "src,dst,t\n0,1,1.5\n", times, "t.csv:2: column 't'", "time_scale"},
               {"b.parquet",
                parquet_of(*table_of({{"src", array_of(arrow::int64(), "[0,1]")},
                                      {"dst", array_of(arrow::int64(), "[1,2]")},
                                      {"t", array_of(arrow::utf8(), R"(["2015-05-19","x"])")}})),
                "[[edges]]\nfile = 'b.parquet'\ntime_column = 't'\n",
                "b.parquet: column 't' holds texts",
                "times are whole numbers, such as seconds",
                kNoStringIds},
               {"n.csv",
                "t\n2015-05-19\n2015-05-19\n2015-05-19\n",
                "[[nodes]]\ntimes.file = 'n.csv'\n" + kHintEdges,
                "n.csv:2: column 't'",
                "times.scale",
                kNoStringIds},
               {"n.npy",
                npy_of<double>("<f8", {0.5, 1, 2}),
                "[[nodes]]\ntimes.file = 'n.npy'\n" + kHintEdges,
                "n.npy: holds f64, where integers are asked",
                "times.scale"},
               {"n.parquet",
                one_column(arrow::utf8(), R"(["2015-05-19","2015-05-20","2015-05-21"])"),
                "[[nodes]]\ntimes.file = 'n.parquet'\n" + kHintEdges,
                "n.parquet: column 'v' holds texts",
                "times are whole numbers",
                kNoStringIds}});
}

TEST_CASE("hints: words where classes, targets, features, weights and ids are asked") {
  const auto nodes = [](const std::string& keys) {
    return "[[nodes]]\n" + keys + "\n" + kHintEdges;
  };
  check_hints({{"y.csv",
                "y\n0\nRome\n1\n",
                nodes("labels.file = 'y.csv'"),
                "y.csv:3: column 'y': 'Rome' is not",
                "labels.kind = \"name\"",
                kNoStringIds},
               {"y.csv",
                "y\nRome\nOslo\nRome\n",
                nodes("labels = { file = 'y.csv', kind = 'class' }"),
                "y.csv:2: column 'y': 'Rome' is not",
                "labels.kind = \"name\"",
                kNoStringIds},
               {"y.parquet",
                one_column(arrow::utf8(), R"(["Rome","Oslo","Rome"])"),
                nodes("labels = { file = 'y.parquet', kind = 'class' }"),
                "y.parquet: column 'v' holds texts",
                "labels.kind = \"name\"",
                kNoStringIds},
               {"y.csv",
                "y\n0.5\nRome\n1\n",
                nodes("labels = { file = 'y.csv', kind = 'regression' }"),
                "y.csv:3: column 'y': 'Rome' is not a number",
                "targets are numbers"},
               {"x.csv",
                "a,b\n1,2\n1,Rome\n1,3\n",
                nodes("features.file = 'x.csv'"),
                "x.csv:3: column 'b': 'Rome' is not a number",
                "leave the column out of features.columns"},
               {"x.parquet",
                one_column(arrow::utf8(), R"(["Rome","Oslo","Rome"])"),
                nodes("features.file = 'x.parquet'"),
                "x.parquet: column 'v' holds texts",
                "leave the column out of features.columns",
                kNoStringIds},
               {"w.csv",
                "src,dst,w\n0,1,heavy\n",
                "[[edges]]\nfile = 'w.csv'\nweight_column = 'w'\n",
                "w.csv:2: column 'w': 'heavy' is not a number",
                "weights are numbers"},
               {"i.csv",
                "src,dst\nann,bob\n",
                "[[edges]]\nfile = 'i.csv'\n",
                "i.csv:2: column 'src': 'ann' is not an integer",
                "ids = \"string\""},
               {"t.csv",
                "id\nann\n",
                kHintEdges + "[[splits]]\ntrain = 't.csv'\n",
                "t.csv:2: column 'id': 'ann' is not an integer",
                "ids = \"string\""},
               {"g.csv",
                "graph\na\na\nb\n",
                kHintEdges + "[graphs]\nmembership.file = 'g.csv'\n",
                "g.csv:2: column 'graph': 'a' is not an integer",
                "graphs are numbered",
                kNoStringIds}});
}

TEST_CASE("hints: an array without a header is raw") {
  const std::string bytes(24, '\1');
  check_hints({{"x.npy",
                bytes,
                "[[nodes]]\nfeatures.file = 'x.npy'\n" + kHintEdges,
                "ROOT/raw/x.npy: is not an .npy file",
                "format = \"raw\", and [raw] dtype and width"},
               {"p.npy",
                bytes,
                "[[edges]]\nfile = 'p.npy'\n",
                "ROOT/raw/p.npy: is not an .npy file",
                "format = \"raw\", and [raw] dtype and width"}});
}

TEST_CASE("hints: one [csv] table that does not fit all its files is named as the cause") {
  RolesFolder folder;
  folder.write("e.csv", "0,1\n1,2\n");
  folder.write("x.csv", "age,income\n1,2\n3,4\n5,6\n");
  const std::string text = folder.refusal(
      "[[nodes]]\nfeatures.file = 'x.csv'\n[[edges]]\nfile = 'e.csv'\n[csv]\nheader = 'no'\n");
  CHECK(says(text, "ROOT/raw/x.csv:1: column 'c0': 'age' is not a number"));
  CHECK(says(text, "[csv] header = \"yes\", which holds for all CSV files"));
  const std::string other =
      folder.refusal("[[nodes]]\nfeatures.file = 'x.csv'\n[[edges]]\nfile = 'e.csv'\n");
  CHECK(says(other, "ROOT/raw/e.csv:1: the first line holds numbers"));
  CHECK(says(other, "[csv] header = \"no\""));
}

TEST_CASE("graphs: an edge that joins two of them is refused where it stands") {
  const std::string edges = "1, 2\n2, 1\n2, 3\n3, 4\n";
  for (const std::string more : {"", "reverse = 'back'\n", "undirected = true\n"}) {
    CAPTURE(more);
    RolesFolder folder;
    folder.write("A.csv", edges);
    folder.write("g.csv", "1\n1\n2\n2\n");
    const std::string text =
        folder.refusal("[[nodes]]\nfirst_id = 1\n[[edges]]\nfile = 'A.csv'\n" + more +
                       "[graphs]\nmembership.file = 'g.csv'\nfirst_id = 1\n[csv]\nheader = 'no'\n");
    CHECK(says(text,
               "data|ROOT/raw/A.csv:3: column 'c1': the edge from 2 to 3 joins two graphs, 1 "
               "and 2"));
    CHECK(says(text, "no edge leaves its graph"));
  }
  RolesFolder folder;
  folder.write("A_A.txt", edges);
  folder.write("A_graph_indicator.txt", "1\n1\n2\n2\n");
  folder.write("A_graph_labels.txt", "0\n1\n");
  const Error error = expect_error([&] {
    folder.listen_to_guess({"A_A.txt", "A_graph_indicator.txt", "A_graph_labels.txt"});
  });
  CHECK(says(error.what(), "A_A.txt:3"));
  CHECK(says(error.what(), "joins two graphs"));
  CHECK(folder.leftovers().empty());

  folder.write("e.npy", npy("<i8", "(2, 2)", bytes_of_values<std::int64_t>({0, 1, 1, 2})));
  folder.write("s.csv", "n\n2\n0\n2\n");
  CHECK(says(folder.refusal("[[edges]]\nfile = 'e.npy'\n[graphs]\nsizes.file = 's.csv'\n"),
             "e.npy: row 1: the edge from 1 to 2 joins two graphs, 0 and 2"));
  folder.write("e.npy", npy("<i8", "(2, 2)", bytes_of_values<std::int64_t>({0, 1, 3, 2})));
  folder.listen("[[edges]]\nfile = 'e.npy'\n[graphs]\nsizes.file = 's.csv'\n");
  folder.check_sound();
}

TEST_CASE("hints: a comma in a number") {
  const std::string commas = "have a point before their fraction, and no comma";
  check_hints({{"w.csv",
                "src;dst;w\n0;1;0,5\n",
                "[[edges]]\nfile = 'w.csv'\nweight_column = 'w'\n[csv]\ndelimiter = ';'\n",
                "w.csv:2: column 'w': '0,5' is not a number",
                commas},
               {"x.csv",
                "f,g\n1,\"1,200\"\n",
                "[[nodes]]\nfeatures.file = 'x.csv'\n" + kHintEdges,
                "x.csv:2: column 'g': '1,200' is not a number",
                commas}});
}

TEST_CASE("features: whole numbers that f32 rounds are told with their columns") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n1,0\n");
  const std::string toml = "[[nodes]]\nfeatures = { file = 'x.csv'KEYS }\n" + kHintEdges;
  const auto keys = [&](const std::string& more) {
    return std::string(toml).replace(toml.find("KEYS"), 4, more);
  };
  folder.write("x.csv", "a,made,b\n1,16777217,0.5\n2,1700000001,2\n");
  CHECK(says(folder.listen(keys("")),
             "x.csv: whole numbers beyond 2^24 are rounded to f32, such as 16777217 to 16777216: "
             "those of column 'made';"));
  const std::string none = "beyond 2^24";
  CHECK(folder.listen(keys(", columns = ['a', 'b']")).find(none) == std::string::npos);
  CHECK(folder.listen(keys(", scale = 'standard'")).find(none) == std::string::npos);
  folder.write("x.csv", "a,made,b\n1,16777218,16777217.5\n2,1e30,2\n");
  CHECK(folder.listen(keys("")).find(none) == std::string::npos);
  folder.write(
      "x.npy",
      npy("<i8", "(2, 2)", bytes_of_values(std::vector<std::int64_t>{1, 2, 3, -1700000001})));
  CHECK(says(folder.listen("[[nodes]]\nfeatures.file = 'x.npy'\n" + kHintEdges),
             "such as -1700000001 to -1700000000: those of element 1;"));
}

TEST_CASE("weights and targets: whole numbers that f32 rounds are told") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst,w\n0,1,1\n1,0,16777217\n");
  folder.write("y.csv", "y\n1.5\n-1700000001\n");
  const std::string weights = "[[edges]]\nfile = 'e.csv'\nweight_column = 'w'\n";
  const std::string rounded = ": whole numbers beyond 2^24 are rounded to f32, such as ";
  const std::string both =
      folder.listen("[[nodes]]\nlabels = { file = 'y.csv', kind = 'regression' }\n" + weights);
  CHECK(says(both, "e.csv: weights" + rounded + "16777217 to 16777216;"));
  CHECK(says(both, "y.csv: targets" + rounded + "-1700000001 to -1700000000;"));
  folder.write("e.csv", "src,dst,w\n0,1,0.1\n1,0,16777218\n");
  CHECK(folder.listen(weights).find("rounded") == std::string::npos);
}

TEST_CASE("hints: fields that another character parts") {
  const std::string semicolon = "say [csv] delimiter = \";\"";
  check_hints({{"s.csv",
                "src;dst\n0;1\n",
                "[[edges]]\nfile = 's.csv'\n",
                "2 columns are needed, the file has 1",
                "its only column is 'src;dst': if ';' parts its fields, " + semicolon},
               {"s.csv",
                "src;dst\n0;1\n",
                "[[edges]]\nfile = 's.csv'\nsource_column = 'src'\n",
                "there is no column 'src'",
                semicolon},
               {"t.csv",
                "src\tdst\n0\t1\n",
                "[[edges]]\nfile = 't.csv'\n",
                "2 columns are needed",
                "delimiter = \"\\t\""},
               {"x.csv",
                "f;g\n1;2\n",
                "[[nodes]]\nfeatures.file = 'x.csv'\n" + kHintEdges,
                "'1;2' is not a number",
                "';' parts numbers here: " + semicolon},
               {"n.csv",
                "f\n1;b\n",
                "[[nodes]]\nfeatures.file = 'n.csv'\n" + kHintEdges,
                "'1;b' is not a number",
                "",
                "parts numbers"}});
}
