// Parts of a split that are columns of one table: masks, by the order of rows or by the ids beside
// them, and ids.
#include "roles_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using PartIds = std::vector<std::uint64_t>;

constexpr const char* kMaskNames = "columns = ['train_mask', 'val_mask', 'test_mask']\n";

/// A graph of six nodes whose split is of one file.
std::string parts_toml(const std::string& file,
                       const std::string& keys = kMaskNames,
                       const std::string& nodes = "count = 6\n") {
  return fmt::format(
      "[[nodes]]\n{1}[[edges]]\nfile = 'e.csv'\n"
      "[[splits]]\ntrain = '{0}'\nvalid = '{0}'\ntest = '{0}'\n{2}",
      file,
      nodes,
      keys);
}

struct PartsFolder : RolesFolder {
  PartsFolder() { write("e.csv", "src,dst\n0,1\n1,2\n2,3\n3,4\n4,5\n"); }

  /// The nodes of a part, of the split that was imported last.
  std::vector<PartIds> parts() const {
    const Dataset dataset = opened();
    const auto split = dataset.split("default");
    return {as_vector(split.train), as_vector(split.valid), as_vector(split.test)};
  }
  std::vector<std::vector<std::string>> names() const {
    const Dataset dataset = opened();
    std::vector<std::vector<std::string>> all;
    for (const PartIds& part : parts()) {
      all.emplace_back();
      for (const std::uint64_t node : part) all.back().push_back(dataset.ids("node").text(node));
    }
    return all;
  }
};

const std::vector<PartIds> kParts{{0, 1, 4}, {2}, {3, 5}};

}  // namespace

TEST_CASE("mask columns: three of one table, in every format") {
  PartsFolder folder;
  const auto bools = [](const char* json) { return array_of(arrow::boolean(), json); };
  const auto table = table_of({{"x", array_of(arrow::float32(), "[1,2,3,4,5,6]")},
                               {"train_mask", bools("[true,true,false,false,true,false]")},
                               {"val_mask", bools("[false,false,true,false,false,false]")},
                               {"test_mask", bools("[false,false,false,true,false,true]")}});
  const Members arrays{
      {"edge_index.npy", npy("<i8", "(2, 1)", bytes_of_values<std::int64_t>({0, 1}))},
      {"test_mask.npy", npy_bools({0, 0, 0, 1, 0, 1})},
      {"train_mask.npy", npy_bools({1, 1, 0, 0, 1, 0})},
      {"val_mask.npy", npy_bools({0, 0, 1, 0, 0, 0})}};
  const std::vector<std::pair<std::string, std::string>> files{
      {"w.csv",
       "x,train_mask,val_mask,test_mask\n1,True,False,False\n2,True,False,False\n"
       "3,False,True,False\n4,False,False,True\n5,True,False,False\n6,False,False,True\n"},
      {"i.csv",
       "test_mask,train_mask,val_mask,x\n0,1,0,9\n0,1,0,9\n0,0,1,9\n1,0,0,9\n0,1,0,9\n1,0,0,9\n"},
      {"t.parquet", parquet_of(*table)},
      {"t.arrow", ipc_of(*table)},
      {"t.npz", npz(arrays)}};
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    folder.write(name, content);
    const std::string said = folder.listen(parts_toml(name));
    CHECK(folder.parts() == kParts);
    CHECK((said.find("warning") != std::string::npos) == (name == "i.csv"));
    folder.check_sound();
  }
}

TEST_CASE("mask columns: as many as there are parts, and files of their own") {
  PartsFolder folder;
  folder.write("n.csv", "a,b\n1,0\n1,0\n0,0\n0,1\n1,0\n0,1\n");
  folder.listen(
      "[[nodes]]\ncount = 6\n[[edges]]\nfile = 'e.csv'\n"
      "[[splits]]\ntrain = 'n.csv'\ntest = 'n.csv'\ncolumns = ['a', 'b']\n");
  CHECK(folder.parts() == std::vector<PartIds>{{0, 1, 4}, {}, {3, 5}});
  // Of a file of one column the name may be empty: the first.
  folder.write("v.csv", "m\nFalse\nFalse\nTrue\nFalse\nFalse\nFalse\n");
  folder.listen(
      "[[nodes]]\ncount = 6\n[[edges]]\nfile = 'e.csv'\n[[splits]]\ntrain = 'n.csv'\n"
      "valid = 'v.csv'\ntest = 'n.csv'\ncolumns = ['a', '', 'b']\n");
  CHECK(folder.parts() == kParts);
}

TEST_CASE("mask columns: columns of ids, and labels beside them") {
  PartsFolder folder;
  folder.write("ids.csv", "tr,va,te\n4,2,3\n0,1,5\n");
  folder.listen(parts_toml("ids.csv", "columns = ['tr', 'va', 'te']\n"));
  CHECK(folder.parts() == std::vector<PartIds>{{0, 4}, {1, 2}, {3, 5}});
  folder.write(
      "ids.npz",
      npz({{"te.npy", npy_ids({3, 5})}, {"tr.npy", npy_ids({4, 1, 0})}, {"va.npy", npy_ids({2})}}));
  folder.write("y.npy", npy_ids({1, 0, 1}));
  folder.listen(parts_toml("ids.npz", "columns = ['tr', 'va', 'te']\ntrain_labels = 'y.npy'\n"));
  CHECK(folder.parts() == kParts);
  CHECK(folder.classes() == std::vector<std::int32_t>{1, 0, -1, -1, 1, -1});
}

TEST_CASE("mask columns: rows go by the ids beside them, whatever their order") {
  PartsFolder folder;
  const std::string header = "id,train_mask,val_mask,test_mask\n";
  folder.write("n.csv", header + "5,0,0,1\n0,1,0,0\n3,0,0,1\n1,1,0,0\n2,0,1,0\n4,1,0,0\n");
  const std::string said = folder.listen(parts_toml("n.csv"));
  CHECK(folder.parts() == kParts);
  CHECK(
      says(said, "warning: n.csv: the column 'id' holds ids: the mask 'train_mask' goes by them"));
  // The same as the features beside them.
  folder.write("x.csv",
               "id,x,train_mask,val_mask,test_mask\n5,50,0,0,1\n0,0,1,0,0\n3,30,0,0,1\n"
               "1,10,1,0,0\n2,20,0,1,0\n4,40,1,0,0\n");
  folder.listen(parts_toml(
      "x.csv", kMaskNames, "features = {file = 'x.csv', id_column = 'id', columns = ['x']}\n"));
  CHECK(folder.parts() == kParts);
  CHECK(folder.features(6, 1) == std::vector<float>{0, 10, 20, 30, 40, 50});
  // In order there is nothing to say, and of ids that are not there a row is no node.
  folder.write("n.csv", header + "0,1,0,0\n1,1,0,0\n2,0,1,0\n3,0,0,1\n4,1,0,0\n5,0,0,1\n");
  CHECK(folder.listen(parts_toml("n.csv")).find("holds ids") == std::string::npos);
  CHECK(folder.parts() == kParts);
  // A few nodes alone, by ids that count up.
  folder.write("n.csv", header + "0,1,0,0\n1,0,1,0\n2,0,0,1\n");
  folder.listen(parts_toml("n.csv"));
  CHECK(folder.parts() == std::vector<PartIds>{{0}, {1}, {2}});
}

TEST_CASE("mask columns: of nodes with names, by the list, by ids beside them, by id_column") {
  PartsFolder folder;
  folder.write("e.csv", "src,dst\nann,bob\nbob,cid\ncid,dan\n");
  const std::string rows =
      "dan,True,False,False\nbob,False,True,False\nann,True,False,False\ncid,False,False,True\n";
  const std::vector<std::vector<std::string>> by_list{{"dan", "ann"}, {"bob"}, {"cid"}};
  const std::vector<std::vector<std::string>> by_edges{{"ann", "dan"}, {"bob"}, {"cid"}};
  folder.write("n.csv", "who,train_mask,val_mask,test_mask\n" + rows);
  folder.listen(parts_toml(
      "n.csv", kMaskNames, "ids = 'string'\nid_list = {file = 'n.csv', column = 'who'}\n"));
  CHECK(folder.names() == by_list);
  folder.listen(
      parts_toml("n.csv", std::string(kMaskNames) + "id_column = 'who'\n", "ids = 'string'\n"));
  CHECK(folder.names() == by_edges);
  folder.write("n.csv", "node_id,train_mask,val_mask,test_mask\n" + rows);
  folder.listen(parts_toml("n.csv", kMaskNames, "ids = 'string'\n"));
  CHECK(folder.names() == by_edges);
  // A list elsewhere, in another order.
  folder.write("l.csv", "node_id\ncid\nann\nbob\ndan\n");
  folder.listen(parts_toml("n.csv", kMaskNames, "ids = 'string'\nid_list.file = 'l.csv'\n"));
  CHECK(folder.names() == std::vector<std::vector<std::string>>{{"ann", "dan"}, {"bob"}, {"cid"}});
  // A column of something else's ids numbers no rows.
  folder.write("l.csv", "name\ndan\nbob\nann\ncid\n");
  folder.write("n.csv",
               "city_id,train_mask,val_mask,test_mask\n7,True,False,False\n7,False,True,False\n"
               "8,True,False,False\n8,False,False,True\n");
  folder.listen(parts_toml("n.csv", kMaskNames, "ids = 'string'\nid_list.file = 'l.csv'\n"));
  CHECK(folder.names() == by_list);
}

TEST_CASE("mask columns: ids beside a mask that are none of the nodes', or stand twice") {
  PartsFolder folder;
  const std::string header = "id,train_mask,val_mask,test_mask\n";
  folder.write("n.csv", header + "0,1,0,0\n1,0,1,0\n1,1,0,0\n2,0,0,1\n");
  CHECK(says(folder.refusal(parts_toml("n.csv")),
             "data|ROOT/raw/n.csv:4: column 'id': the id 1 stands here again|"));
  folder.write("n.csv", header + "1,1,0,0\n2,0,1,0\n6,0,0,1\n");
  CHECK(
      says(folder.refusal(parts_toml("n.csv")), "n.csv:4: column 'id': the id 6 is out of range"));
  folder.listen(parts_toml("n.csv", kMaskNames, "count = 7\n"));
  CHECK(folder.parts() == std::vector<PartIds>{{1}, {2}, {6}});
}

TEST_CASE("mask columns: keys that do not fit are refused by name") {
  struct Row {
    std::string keys, text;
  };
  PartsFolder folder;
  folder.write("n.csv",
               "id,train_mask,val_mask,test_mask\n0,True,False,False\n1,False,True,False\n"
               "2,False,False,True\n3,True,False,False\n4,True,False,False\n5,True,False,False\n");
  for (const Row& row : std::vector<Row>{
           {"columns = ['train_mask', 'val_mask']\n",
            "usage|[[splits]] 'default': columns names 2, and the split has 3 parts: train, valid, "
            "test|columns has one column for each part, in the order train, valid, test"},
           {"columns = ['a', 'b', 'c', 'd']\n", "columns names 4, and the split has 3 parts"},
           {"columns = ['a', 'b', 'c']\ncolumn = 'a'\n",
            "[[splits]] 'default': column and columns exclude each other|keep one of them"},
           {"columns = ['train_mask', 'valid_mask', 'test_mask']\n",
            "data|ROOT/raw/n.csv: there is no column 'valid_mask'|did you mean 'val_mask'?"},
           {"columns = ['train_mask', 'val_mask', 'test_mask']\nid_column = 'ids'\n",
            "data|ROOT/raw/n.csv: there is no column 'ids'|did you mean 'id'?"},
           {"columns = ['id', 'val_mask', 'test_mask']\nid_column = 'id'\n",
            "data|ROOT/raw/n.csv: train: id_column is of masks, and this holds other values than "
            "true and false, or 0 and 1"},
           {"of = 'edges'\ncolumns = ['a', 'b', 'c']\n", "columns is of nodes and graphs"},
           {"id_column = 'id'\ntrain_labels = 'n.csv'\n",
            "id_column is of masks, and labels stand beside ids"}}) {
    CAPTURE(row.keys);
    CHECK(says(folder.refusal(parts_toml("n.csv", row.keys)), row.text));
  }
  CHECK(says(folder.refusal("[[nodes]]\ncount = 6\n[[edges]]\nfile = 'e.csv'\n"
                            "[[splits]]\nratio = [0.5, 0.2, 0.2]\ncolumns = ['a', 'b', 'c']\n"),
             "columns is of files, and ratio reads none"));
}

TEST_CASE("mask columns: labels beside a mask are refused, and a mask that nobody named is said") {
  PartsFolder folder;
  folder.write("m.npy", npy_bools({1, 1, 0, 0, 1, 0}));
  folder.write("y.npy", npy_ids({1, 0, 1}));
  CHECK(says(folder.refusal("[[nodes]]\ncount = 6\n[[edges]]\nfile = 'e.csv'\n"
                            "[[splits]]\ntrain = 'm.npy'\ntrain_labels = 'y.npy'\n"),
             "data|ROOT/raw/m.npy: holds bool, where ids are asked"));
  folder.write("n.csv", "id,train_mask\n0,True\n1,False\n");
  const std::string said = folder.listen(
      "[[nodes]]\ncount = 6\n[[edges]]\nfile = 'e.csv'\n[[splits]]\ntrain = 'n.csv'\n");
  CHECK(says(said,
             "n.csv: train is taken from its column 'id'; where a mask is meant, name it: "
             "column = \"train_mask\""));
}
