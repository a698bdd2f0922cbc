// Arrays of pairs whose shape, [2, 2], does not tell how they lie.
#include "case_folder.h"
#include "prep/npz_file.h"

using namespace sluice;
using namespace sluice::test;

namespace {

const NamedEdges kByColumns{{"0", "2"}, {"1", "3"}};  // of the rows 0 1 and 2 3
const NamedEdges kByRows{{"0", "1"}, {"2", "3"}};
const std::string kFour = npy_pairs("(2, 2)", {0, 1, 2, 3});

}  // namespace

TEST_CASE("pairs: GraphBolt's arrays are [2, E]") {
  CaseFolder folder;
  folder.write(
      "metadata.yaml",
      "dataset_name: x\ngraph:\n  nodes:\n    - {type: a, num: 4}\n    - {type: b, num: 4}\n"
      "  edges:\n    - {type: 'a:x:b', format: numpy, path: x.npy}\n"
      "    - {type: 'a:y:b', format: numpy, path: y.npy}\n"
      "    - {type: 'a:z:b', format: numpy, path: z.npy}\n");
  folder.write("x.npy", npy_pairs("(2, 2)", {0, 2, 1, 3}));
  folder.write("y.npy", npy_pairs("(2, 0)", {}));
  folder.write("z.npy", npy_pairs("(2, 1)", {3, 0}));
  const auto made = folder.by_guess();
  CHECK(made.said.empty());
  CHECK((edges_of(made.dataset, "a__x__b") == NamedEdges{{"0", "1"}, {"2", "3"}}));
  CHECK(edges_of(made.dataset, "a__y__b").empty());
  CHECK((edges_of(made.dataset, "a__z__b") == NamedEdges{{"3", "0"}}));
}

TEST_CASE("pairs: what is called edge_index is [2, E], in .npy and .npz") {
  CaseFolder folder;
  folder.write("edge_index.npy", kFour);
  folder.write("a.npz", npz({{"edge_index.npy", kFour}, {"w.npy", npy_ids({1, 2})}}));
  folder.write("b.npz", npz({{"edge_index.npy", kFour}}));
  const auto check = [&](const std::string& toml) {
    const auto made = folder.by_toml(toml);
    CHECK(edges_of(made.dataset, "node__edge__node") == kByColumns);
    CHECK(made.said.empty());
  };
  check("[[edges]]\nfile = 'edge_index.npy'\n");
  check("[[edges]]\nfile = 'b.npz'\n");
  check("[[edges]]\nfile = 'a.npz'\nsource_column = 'edge_index'\nweight_column = 'w'\n");
  for (const char* file : {"edge_index.npy", "a.npz", "b.npz"}) {
    CAPTURE(file);
    CHECK(edges_of(folder.by_guess({file}).dataset, "node__edge__node") == kByColumns);
  }
}

TEST_CASE("pairs: elsewhere nothing tells, which is said") {
  CaseFolder folder;
  folder.write("e.npy", kFour);
  const auto made = folder.by_toml("[[edges]]\nfile = 'e.npy'\n");
  CHECK(edges_of(made.dataset, "node__edge__node") == kByRows);
  CHECK(made.says("e.npy: the array 'values' is [2, 2]"));
  const auto columns = folder.by_toml("[[edges]]\nfile = 'e.npy'\npairs = 'columns'\n");
  CHECK(edges_of(columns.dataset, "node__edge__node") == kByColumns);
  CHECK(columns.said.empty());
  const auto described = folder.describe();
  CHECK(has(on_one_line(described.toml), "The array values of e.npy is [2, 2]"));
  CHECK(edges_of(folder.by_guess(described).dataset, "node__edge__node") == kByRows);
}

TEST_CASE("pairs: other shapes are told by themselves, parts too") {
  CaseFolder folder;
  const NamedEdges six{{"0", "3"}, {"1", "4"}, {"2", "5"}};
  folder.write("e.npy", npy_pairs("(2, 3)", {0, 1, 2, 3, 4, 5}));
  auto made = folder.by_toml("[[edges]]\nfile = 'e.npy'\n");
  CHECK(edges_of(made.dataset, "node__edge__node") == six);
  CHECK(made.said.empty());
  folder.write("e.npy", npy_pairs("(3, 2)", {0, 3, 1, 4, 2, 5}));
  made = folder.by_toml("[[edges]]\nfile = 'e.npy'\n");
  CHECK(edges_of(made.dataset, "node__edge__node") == six);
  CHECK(made.said.empty());
  // A part of [2, 2] lies as its neighbours do.
  folder.write("p/0.npy", npy_pairs("(2, 1)", {0, 3}));
  folder.write("p/1.npy", npy_pairs("(2, 2)", {1, 2, 4, 5}));
  made = folder.by_toml("[[edges]]\nfile = 'p'\n");
  CHECK(edges_of(made.dataset, "node__edge__node") == six);
}
