// Bad input: what each fault reads like, word for word, and that nothing is left behind: features,
// labels, splits, graph.toml, the output. Rows are "code|place: message|hint".
#include "import_bad_input.h"

#include <limits>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("bad input: features") {
  check_all({
      nodes("dimension 0",
            "x.npy",
            npy("<f4", "(3, 0)", ""),
            "features.file = 'x.npy'",
            "data|ROOT/raw/x.npy: the features have no columns (dimension 0)|leave features out"),
      nodes("count differs",
            "x.npy",
            floats(1),
            "count = 4\nfeatures.file = 'x.npy'",
            "data|ROOT/raw/x.npy: 3 rows for type 'node', which has 4 nodes by count|every node "
            "needs exactly one row, in the "
            "order of the ids"),
      nodes("NaN",
            "x.npy",
            floats(std::numeric_limits<float>::quiet_NaN()),
            "features.file = 'x.npy'",
            "data|ROOT/raw/x.npy: row 1: element 1: the value is nan|mend the data, or say "
            "missing = \"mean\" or \"zero\", or not_finite = \"keep\""),
      nodes("infinity",
            "x.csv",
            "a,b\n1,2\n3,-inf\n5,6\n",
            "features.file = 'x.csv'",
            "data|ROOT/raw/x.csv:3: column 'b': the value is -inf|mend the data, or say not_finite "
            "= \"keep\""),
      nodes("beyond f16",
            "x.npy",
            floats(1e6f),
            "features = { file = 'x.npy', dtype = 'f16' }",
            "data|ROOT/raw/x.npy: row 1: element 1: 1000000 is beyond f16|f16 ends at 65504: say "
            "dtype = \"bf16\" or \"f32\""),
      nodes("beyond f16, and keeping what is not finite does not make it infinite",
            "x.csv",
            "a,b\n1,inf\n,-65520\n5,6\n",
            "features = { file = 'x.csv', dtype = 'f16', not_finite = 'keep' }",
            "data|ROOT/raw/x.csv:3: column 'b': -65520 is beyond f16|f16 ends at 65504: say "
            "dtype = \"bf16\" or \"f32\""),
      nodes("beyond bf16",
            "x.npy",
            floats(3.4e38f),
            "features = { file = 'x.npy', dtype = 'bf16' }",
            "data|ROOT/raw/x.npy: row 1: element 1: 3.3999999521443642e+38 is beyond bf16|mend the "
            "data: features reach up to 3.4e38"),
      nodes("beyond int8",
            "x.csv",
            "a,b\n1,2\n3,-1e39\n5,6\n",
            "features = { file = 'x.csv', dtype = 'int8' }",
            "data|ROOT/raw/x.csv:3: column 'b': -1e+39 is beyond int8|mend the data: features "
            "reach up to 3.4e38"),
      nodes("NaN in int8",
            "x.npy",
            floats(std::numeric_limits<float>::quiet_NaN()),
            "features = { file = 'x.npy', dtype = 'int8' }",
            "data|ROOT/raw/x.npy: row 1: element 1: the value is nan|mend the data, or say missing "
            "= \"mean\" or \"zero\"; or dtype = \"f32\" and not_finite = \"keep\": int8 has no "
            "place for it"),
      nodes("int8 that keeps NaN",
            "x.npy",
            floats(1),
            "features = { file = 'x.npy', dtype = 'int8', not_finite = 'keep' }",
            "usage|[[nodes]] 'node' features: dtype = \"int8\" cannot keep what is not finite|say "
            "dtype = \"f32\", \"f16\" or \"bf16\", or leave not_finite out"),
      nodes("stochastic f16",
            "x.npy",
            floats(1),
            "features = { file = 'x.npy', dtype = 'f16', rounding = 'stochastic' }",
            "usage|[[nodes]] 'node' features: rounding = \"stochastic\" is for dtype = "
            "\"int8\"|leave rounding out: floats round to nearest even"),
      nodes("beyond f32",
            "x.csv",
            "a,b\n1,2\n3,1e200\n5,6\n",
            "features.file = 'x.csv'",
            "data|ROOT/raw/x.csv:3: column 'b': 1e+200 is beyond f32|mend the data: features reach "
            "up to 3.4e38"),
      nodes("text",
            "x.csv",
            "a,b\n1,2\n3,four\n5,6\n",
            "features.file = 'x.csv'",
            "data|ROOT/raw/x.csv:3: column 'b': 'four' is not a number|features are numbers: leave "
            "the column out of features.columns, or encode it as numbers"),
      nodes("what Arrow takes for a number is not blamed",
            "x.csv",
            "a\n+5\n1.\n.5\n1e999\nnan\n1,5\n",
            "features = { file = 'x.csv', not_finite = 'keep' }",
            "data|ROOT/raw/x.csv:7: 2 fields, but the header names 1 columns|fix the line, or "
            "quote a field that holds the "
            "delimiter ','"),
      nodes("empty cell",
            "x.csv",
            "a,b\n1,2\n3,\n5,6\n",
            "features.file = 'x.csv'",
            "data|ROOT/raw/x.csv:3: column 'b': the cell is empty|every row needs a value here: "
            "say features.missing = \"mean\" or \"zero\", or mend the data"),
      nodes("missing column",
            "x.csv",
            "alpha,beta\n1,2\n",
            "features = { file = 'x.csv', columns = ['alpha', 'bета'] }",
            "data|ROOT/raw/x.csv: there is no column 'bета'|its columns: alpha, beta"),
  });
}

TEST_CASE("bad input: labels") {
  const std::string two = "features.file = 'x.npy'\nlabels.file = 'y.npy'";
  check_all({
      {"count mismatch",
       {kGoodEdges, {"x.npy", floats(1)}, {"y.npy", npy_ids({0, 1})}},
       "[[nodes]]\n" + two + "\n" + kEdges,
       "data|ROOT/raw/y.npy: 2 rows for type 'node', which has 3 nodes by x.npy|every node needs "
       "exactly one row, in the order "
       "of the ids"},
      nodes("negative",
            "y.npy",
            npy_ids({0, -2, 1}),
            "labels.file = 'y.npy'",
            "data|ROOT/raw/y.npy: row 1: the label -2 is negative|-1 or an empty cell is no label; "
            "labels.none names other values that say so"),
      nodes("beyond the classes",
            "y.csv",
            "y\n0\n5\n1\n",
            "labels = { file = 'y.csv', classes = 3 }",
            "data|ROOT/raw/y.csv:3: column 'y': the label 5 is not below the number of classes, "
            "3|classes are 0 to classes - 1; "
            "classes = 0 counts them"),
      nodes("no label at all",
            "y.npy",
            npy_ids({-1, -1, -1}),
            "labels.file = 'y.npy'",
            "data|ROOT/raw/y.npy: no node has a label|leave labels out, or say classes = ..."),
      nodes("classes of fractions",
            "y.npy",
            npy("<f4", "(3,)", bytes_of_values<float>({1, 0, 1.5})),
            "labels = { file = 'y.npy', kind = 'class' }",
            "data|ROOT/raw/y.npy: row 2: the label 1.5 is no class|0, 1, 2, ...; or NaN"),
      nodes("classes of a matrix",
            "y.npy",
            npy("<i4", "(3, 2)", std::string(24, '\0')),
            "labels = { file = 'y.npy', kind = 'class' }",
            "data|ROOT/raw/y.npy: class labels are one number a row, this has 2|say kind = "
            "\"multi_label\" or \"regression\", or "
            "name one column"),
      nodes("neither 0 nor 1",
            "y.npy",
            npy("|u1", "(3, 2)", std::string("\0\0\0\2\0\0", 6)),
            "labels.file = 'y.npy'",
            "data|ROOT/raw/y.npy: row 1: element 1: 2 is neither 0 nor 1|multi_label is one bit a "
            "class"),
      nodes("infinite target",
            "y.csv",
            "y\n0\ninf\n1\n",
            "labels = { file = 'y.csv', kind = 'regression' }",
            "data|ROOT/raw/y.csv:3: column 'y': inf is no finite f32|NaN or an empty cell is no "
            "label"),
      nodes("dimension 0",
            "y.npy",
            npy("<i4", "(3, 0)", ""),
            "labels.file = 'y.npy'",
            "data|ROOT/raw/y.npy: the labels have no columns (dimension 0)|leave labels out"),
      nodes("unknown id",
            "y.csv",
            "id,y\n0,1\n9,1\n",
            "labels = { file = 'y.csv', id_column = 'id' }",
            "data|ROOT/raw/y.csv:3: column 'id': the id 9 is out of range: type 'node' has 3 nodes "
            "by the edges|dense ids run "
            "from 0 to count - 1; for others say ids = \"integer\""),
      nodes(
          "an id twice",
          "y.csv",
          "id,y\n0,1\n2,0\n0,1\n",
          "labels = { file = 'y.csv', id_column = 'id' }",
          "data|ROOT/raw/y.csv:4: column 'id': the id 0 stands here again|each node has one label"),
  });
}

TEST_CASE("bad input: splits") {
  const auto split = [](const char* name,
                        std::vector<std::pair<std::string, std::string>> files,
                        const std::string& keys,
                        const std::string& expected) {
    files.push_back(kGoodEdges);
    return Fault{name, std::move(files), kEdges + "[[splits]]\n" + keys, expected};
  };
  check_all({
      split("empty part",
            {{"a.npy", npy_ids({0})}, {"b.npy", npy_ids({})}},
            "train = 'a.npy'\nvalid = 'b.npy'\n",
            "data|ROOT/raw/b.npy: split 'default': the valid part has no ids|list at least one, or "
            "leave valid out"),
      split("out of range",
            {{"a.csv", "id\n0\n3\n"}},
            "train = 'a.csv'\n",
            "data|ROOT/raw/a.csv:3: column 'id': the id 3 is out of range: type 'node' has 3 nodes "
            "by the edges|dense ids run "
            "from 0 to count - 1; for others say ids = \"integer\""),
      split("in two parts",
            {{"a.npy", npy_ids({0, 1})}, {"b.npy", npy_ids({1})}},
            "train = 'a.npy'\ntest = 'b.npy'\n",
            "data|split 'default': node 1 stands twice, in train and in test|each node may be in "
            "one part, once"),
      split("part that rounds to nothing",
            {},
            "ratio = [0.9, 0.05, 0.05]\n",
            "data|a split by ratio leaves the valid part empty: 0.05 of 3 nodes|raise the ratio, "
            "or set it to 0"),
      split("floats",
            {{"a.npy", npy("<f8", "(1,)", std::string(8, '\0'))}},
            "train = 'a.npy'\n",
            "data|ROOT/raw/a.npy: holds f64, where integers are asked|save a.astype('int64')"),
      split("missing file",
            {},
            "train = 'a.npy'\n",
            "data|ROOT/raw/a.npy: there is no such file (it is [[splits]] 'default' train)|file "
            "names are relative to "
            "graph.toml's folder, its root key, or --root"),
  });
}

TEST_CASE("bad input: graph.toml") {
  const std::string two = "[[nodes]]\ntype = 'a'\n[[nodes]]\ntype = 'b'\n";
  check_all({
      {"no edges",
       {},
       "[[nodes]]\ncount = 3\n",
       "usage|there are no [[edges]]|a graph needs at least one relation with a file"},
      {"unknown key",
       {},
       "[[edges]]\nfile = 'e.csv'\nundirectd = true\n",
       "usage|graph.toml:3:1: unknown key 'edges.undirectd'\n    3 | undirectd = true\n      | "
       "^|did you mean 'undirected'?"},
      {"a name with a slash",
       {},
       "[[nodes]]\ntype = 'a/b'\n" + kEdges,
       "usage|[[nodes]] type = \"a/b\": the name has a character other than letters, digits, '_', "
       "'-' and '.'|names become "
       "folders of the dataset"},
      {"a relation that climbs out",
       {},
       kEdges + "relation = '../x'\n",
       "usage|[[edges]] relation = \"../x\": the name begins with '.'|names become folders of the "
       "dataset"},
      {"unknown node type",
       {},
       two + kEdges + "source = 'a'\ntarget = 'c'\n",
       "usage|[[edges]] 'edge': target: there is no node type 'c'|known: a, b"},
      {"type left out",
       {},
       two + kEdges,
       "usage|[[edges]] 'edge': source is missing, and there are 2 node types|one of: a, b"},
      {"two of a name",
       {},
       "[[nodes]]\n[[nodes]]\n" + kEdges,
       "usage|there are two node types 'node'|rename one"},
      {"two relations of a name",
       {},
       kEdges + kEdges,
       "usage|there are two relations 'node__edge__node'|rename one"},
      {"undirected between types",
       {},
       two + kEdges + "source = 'a'\ntarget = 'b'\nundirected = true\n",
       "usage|[[edges]] 'edge': undirected needs one node type at both ends|it goes from 'a' to "
       "'b'"},
      {"list of dense ids",
       {},
       "[[nodes]]\nid_list.file = 'n.csv'\n" + kEdges,
       "usage|[[nodes]] 'node': id_list is for integer and string ids|say ids = \"integer\" or ids "
       "= \"string\", or leave it out"},
      {"features without an order",
       {},
       "[[nodes]]\nids = 'string'\nfeatures.file = 'x.npy'\n" + kEdges,
       "usage|[[nodes]] 'node': the rows of features and labels need an order of ids|name the list "
       "of ids: id_list = { file = "
       "..., column = ... }; or the column of ids beside them: id_column"},
      {"ratio and files",
       {},
       kEdges + "[[splits]]\ntrain = 'a.npy'\nratio = [1.0, 0.0, 0.0]\n",
       "usage|[[splits]] 'default': files and ratio exclude each other|keep one of them"},
      {"neither",
       {},
       kEdges + "[[splits]]\n",
       "usage|[[splits]] 'default': neither files nor ratio|for example ratio = [0.6, 0.2, 0.2]"},
      {"ratio beyond 1",
       {},
       kEdges + "[[splits]]\nratio = [0.5, 0.5, 0.5]\n",
       "usage|[[splits]] 'default': the shares of ratio sum to 1.5|they may sum to 1 at most"},
      {"two shares",
       {},
       kEdges + "[[splits]]\nratio = [0.5, 0.5]\n",
       "usage|[[splits]] 'default': ratio needs three shares|for example ratio = [0.6, 0.2, 0.2]"},
  });
}

TEST_CASE("bad input: the output") {
  ImportFolder folder;
  folder.write("e.csv", kGoodEdges.second);
  folder.run(kEdges);
  const std::string before = read_all(folder.out() / "manifest.json");
  const Error exists = expect_error([&] { folder.run(kEdges); });
  CHECK(as_text(exists, folder) ==
        "usage|ROOT/out/graph: the output already exists|choose another --out, or add --overwrite "
        "to replace it");
  folder.write("e.csv", "src,dst\n0,x\n");
  const Error fails = expect_error([&] { folder.run(kEdges, Overwrite::kReplace); });
  CHECK(fails.place().line == 2);
  CHECK(read_all(folder.out() / "manifest.json") == before);
  CHECK(folder.leftovers() == std::vector<std::string>{"graph"});
  folder.write("out-is-a-file", "x");
  const Error file =
      expect_error([&] { folder.run_into(kEdges, folder.dir / "raw/out-is-a-file/x"); });
  CHECK(file.code() != ErrorCode::kInternal);
}
