// Several files that are one table; edges as [2, E]; classes as floats.
#include "import_support.h"

#include <doctest/doctest.h>

#include <limits>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kShards = "[[edges]]\nfile = 'edges/part-*.csv'\n";

}  // namespace

TEST_CASE("shards are one table, in the order of the numbers in their names") {
  ImportFolder folder;
  folder.write("edges/part-2.csv", "s,t\n4,0\n");
  folder.write("edges/part-0.csv", "s,t\n0,1\n1,2\n");
  folder.write("edges/part-1.csv", "s,t\n");
  folder.write("edges/part-10.csv", "s,t\n2,3\n3,3\n");
  folder.write("edges/.part-9.csv", "no table\n");
  folder.write("x/a.npy", npy_rows(2, 1, {1, 2}));
  folder.write("x/b.npy", npy_rows(3, 1, {3, 4, 5}));
  const auto expected = in_edges(5, {{0, 1}, {1, 2}, {2, 3}, {3, 3}, {4, 0}});
  for (const char* file :
       {"edges/part-*.csv", "edges/part-[0-9]*", "edges", "edges/", "*/p*.csv"}) {
    CAPTURE(file);
    folder.run(
        fmt::format("[[nodes]]\nfeatures.file = 'x'\n[[edges]]\nfile = '{}'\nedge_ids = true\n",
                    file),
        Overwrite::kReplace);
    const Dataset dataset = Dataset::open(folder.out());
    CHECK((in_edges(dataset, "node__edge__node") == expected));
    CHECK(stored_f32_rows(folder.out(), "node", 5, 1) == std::vector<float>{1, 2, 3, 4, 5});
    // In the order 0, 1, 2, 10: the edge into node 0 is the third one.
    std::vector<std::uint64_t> first(1, 0), ids(1);
    dataset.topology("node__edge__node")->edge_ids(first, ids).or_throw();
    CHECK(ids[0] == 2);
  }
}

TEST_CASE("shards: errors name the shard and its own rows") {
  ImportFolder folder;
  const auto text = [&](const std::string& toml) {
    return as_text(expect_error([&] { folder.run(toml); }), folder);
  };
  CHECK(text(kShards) ==
        "data|ROOT/raw/edges/part-*.csv: no file matches this|check the name, and the folder it is "
        "looked for in (--root)");
  folder.write("edges/part-0.csv", "s,t\n0,1\n1,2\n");
  folder.write("edges/part-1.csv", "s,t\n0,1\n1,x\n");
  CHECK(text(kShards) ==
        "data|ROOT/raw/edges/part-1.csv:3: column 't': 'x' is not an integer|for ids that are text "
        "say ids = \"string\"");
  folder.write("edges/part-1.csv", "s,t\n0,1\n1,9\n");
  CHECK(text("[[nodes]]\ncount = 3\n" + kShards) ==
        "data|ROOT/raw/edges/part-1.csv:3: column 't': the id 9 is out of range: type 'node' has 3 "
        "nodes by count|dense ids run from 0 to count - 1; for others say ids = "
        "\"integer\"");
  folder.write("edges/part-1.csv", "s,t,w\n0,1,1\n");
  CHECK(text(kShards) ==
        "data|ROOT/raw/edges/part-1.csv: its columns are s, t, w; those of 'part-0.csv' are s, "
        "t|files that are one table have the same columns");
  folder.write("x/a.npy", npy_rows(2, 1, {1, 2}));
  folder.write("x/b.npy", npy_rows(2, 2, {3, 4, 5, 6}));
  CHECK(text("[[nodes]]\nfeatures.file = 'x/*.npy'\n[[edges]]\nfile = 'edges/part-0.csv'\n") ==
        "data|ROOT/raw/x/b.npy: its columns are values (f32) [2]; those of 'a.npy' are values "
        "(f32)|files that are one table have the same columns");
  folder.write("x/b.npy", npy_rows(2, 1, {3, std::numeric_limits<float>::quiet_NaN()}));
  const std::string nan =
      text("[[nodes]]\nfeatures.file = 'x/*.npy'\n[[edges]]\nfile = 'edges/part-0.csv'\n");
  CHECK(nan.find("data|ROOT/raw/x/b.npy: row 1: ") == 0);
}

TEST_CASE("edges of [2, E] are read as [E, 2], in either order of the elements") {
  ImportFolder folder;
  const std::string toml = "[[nodes]]\ncount = 9\n[[edges]]\nfile = 'e.npy'\nedge_ids = true\n";
  const auto check = [&](const std::string& file, const Pairs& edges) {
    folder.write("e.npy", file);
    folder.run(toml, Overwrite::kReplace);
    const Dataset dataset = Dataset::open(folder.out());
    CHECK((in_edges(dataset, "node__edge__node") == in_edges(9, edges)));
  };
  const std::vector<std::int64_t> six{0, 1, 2, 3, 4, 5};
  check(npy("<i8", "(2, 3)", bytes_of_values(six)), {{0, 3}, {1, 4}, {2, 5}});
  check(npy("<i8", "(2, 3)", bytes_of_values(six), "True"), {{0, 1}, {2, 3}, {4, 5}});
  check(npy("<i4", "(2, 1)", bytes_of_values<std::int32_t>({7, 8})), {{7, 8}});
  // Two edges look the same either way, and are one a row.
  check(npy("<i8", "(2, 2)", bytes_of_values<std::int64_t>({0, 1, 2, 3})), {{0, 1}, {2, 3}});

  // More than a chunk.
  constexpr std::size_t kEdges = 700'001;
  std::vector<std::int64_t> ends(2 * kEdges);
  Pairs edges;
  for (std::size_t i = 0; i < kEdges; ++i) {
    ends[i] = static_cast<std::int64_t>(i * 5 % 9);
    ends[kEdges + i] = static_cast<std::int64_t>(i * i % 7);
    edges.emplace_back(i * 5 % 9, i * i % 7);
  }
  check(npy("<i8", fmt::format("(2, {})", kEdges), bytes_of_values(ends)), edges);
}

TEST_CASE("classes may be floats, and NaN none") {
  ImportFolder folder;
  folder.write("e.csv", "s,t\n0,1\n");
  const float none = std::numeric_limits<float>::quiet_NaN();
  folder.write("y.npy", npy("<f4", "(4, 1)", bytes_of_values<float>({2, none, 0, -1})));
  folder.run("[[nodes]]\nlabels = { file = 'y.npy', kind = 'class' }\n[[edges]]\nfile = 'e.csv'\n");
  const auto labels = Dataset::open(folder.out()).labels("node");
  const auto values = labels.as<std::int32_t>();
  CHECK(std::vector<std::int32_t>(values.begin(), values.end()) ==
        std::vector<std::int32_t>{2, -1, 0, -1});
}
