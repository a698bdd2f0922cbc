// Masks, one truth value a node, where ids of a split are asked; and bool where ids are.
#include "roles_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kMaskEdges = "src,dst\n0,1\n1,2\n2,3\n3,4\n4,5\n";
const std::vector<std::uint64_t> kMasked{0, 1, 4};

std::string mask_toml(const std::string& train, const std::string& more = "") {
  return "[[nodes]]\ncount = 6\n[[edges]]\nfile = 'e.csv'\n[[splits]]\ntrain = '" + train + "'\n" +
         more;
}

}  // namespace

TEST_CASE("masks: one bool a node is a part of a split, in every format") {
  RolesFolder folder;
  folder.write("e.csv", kMaskEdges);
  const auto bools = array_of(arrow::boolean(), "[true,true,false,false,true,false]");
  const auto bytes = array_of(arrow::uint8(), "[1,1,0,0,1,0]");
  const std::vector<std::pair<std::string, std::string>> files{
      {"m.npy", npy_bools({1, 1, 0, 0, 1, 0})},
      {"m.npz", npz({{"m.npy", npy_bools({1, 1, 0, 0, 1, 0})}})},
      {"b.parquet", parquet_of(*table_of({{"m", bools}}))},
      {"b.arrow", ipc_of(*table_of({{"m", bools}}))},
      {"i.parquet", parquet_of(*table_of({{"m", bytes}}))},
      {"i.npy", npy_ids({1, 1, 0, 0, 1, 0})},
      {"u.npy", npy_of<std::uint64_t>("<u8", {1, 1, 0, 0, 1, 0})},
      {"t.csv", "m\nTrue\nTrue\nFalse\nFalse\nTrue\nFalse\n"},
      {"l.csv", "m\ntrue\ntrue\nfalse\nfalse\ntrue\nfalse\n"},
      {"i.csv", "m\n1\n1\n0\n0\n1\n0\n"},
      {"i.txt", "1\n1\n0\n0\n1\n0\n"}};
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    folder.write(name, content);
    const std::string said = folder.listen(mask_toml(name));
    CHECK(folder.train() == kMasked);
    if (name[0] == 'i' || name[0] == 'u') CHECK(says(said, "taken as a mask"));
    folder.check_sound();
  }
}

TEST_CASE("masks: of two nodes, of valid and test, of graphs, and by the order of an id list") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  folder.write("m.npy", npy_bools({1, 0}));
  folder.listen("[[nodes]]\ncount = 2\n[[edges]]\nfile = 'e.csv'\n[[splits]]\ntrain = 'm.npy'\n");
  CHECK(folder.train() == std::vector<std::uint64_t>{0});

  folder.write("a.npy", npy_bools({1, 1, 0, 0, 1, 0}));
  folder.write("v.npy", npy_bools({0, 0, 1, 0, 0, 0}));
  folder.write("t.csv", "m\nFalse\nFalse\nFalse\nTrue\nFalse\nFalse\n");
  folder.write("e.csv", kMaskEdges);
  folder.listen(mask_toml("a.npy", "valid = 'v.npy'\ntest = 't.csv'\n"));
  const SplitSchema split = folder.opened().schema().splits.front();
  CHECK(split.valid == 1);
  CHECK(split.test == 1);

  folder.write("e.csv", "src,dst\na,b\nb,c\n");
  folder.write("n.csv", "id\nc\na\nb\n");
  folder.write("m.csv", "m\nTrue\nFalse\nTrue\n");
  folder.listen(
      "[[nodes]]\nids = 'string'\nid_list.file = 'n.csv'\n[[edges]]\nfile = 'e.csv'\n"
      "[[splits]]\ntrain = 'm.csv'\n");
  CHECK(folder.train() == std::vector<std::uint64_t>{0, 2});

  folder.write("e.csv", "src,dst\n0,1\n2,3\n");
  folder.write("g.csv", "graph\n0\n0\n1\n1\n2\n");
  folder.write("m.npy", npy_bools({1, 0, 1}));
  folder.listen(
      "[[edges]]\nfile = 'e.csv'\n[graphs]\nmembership.file = 'g.csv'\n"
      "[[splits]]\nof = 'graphs'\ntrain = 'm.npy'\n");
  CHECK(folder.opened().schema().graphs->splits.front().train == 2);
}

TEST_CASE("masks: of another length, or without an order, are refused by name") {
  RolesFolder folder;
  folder.write("e.csv", kMaskEdges);
  folder.write("m.npy", npy_bools({1, 0, 1}));
  CHECK(says(folder.refusal(mask_toml("m.npy")),
             "data|ROOT/raw/m.npy: is a mask, of 3 rows, but there are 6 nodes|"));
  folder.write("i.csv", "m\n1\n0\n1\n1\n");
  const std::string ints = folder.refusal(mask_toml("i.csv"));
  CHECK(says(ints, "i.csv: holds 0 and 1 alone, as a mask does, of 4 rows, but there are 6 nodes"));
  CHECK(says(ints, "numpy.flatnonzero"));
  folder.write("e.csv", "src,dst\na,b\nb,c\n");
  folder.write("m.csv", "m\nTrue\nFalse\nTrue\n");
  const std::string order = folder.refusal(
      "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.csv'\n[[splits]]\ntrain = 'm.csv'\n");
  CHECK(says(order, "m.csv: is a mask, and nothing tells the order of the nodes|"));
  CHECK_FALSE(order.find("say ids") != std::string::npos);
  folder.write("none.npy", npy_bools({0, 0, 0, 0, 0, 0}));
  folder.write("e.csv", kMaskEdges);
  CHECK(says(folder.refusal(mask_toml("none.npy")), "the train part has no ids"));
}

TEST_CASE("masks: ids of any dtype stay ids, 0 and 1 of two nodes too, which is said") {
  RolesFolder folder;
  folder.write("e.csv", kMaskEdges);
  const std::vector<std::pair<std::string, std::string>> files{
      {"i8.npy", npy("|i1", "(3,)", std::string("\0\1\4", 3))},
      {"u8.npy", npy("|u1", "(3,)", std::string("\0\1\4", 3))},
      {"i4.npy", npy_of<std::int32_t>("<i4", {0, 1, 4})},
      {"u8w.npy", npy_of<std::uint64_t>("<u8", {4, 1, 0})},
      {"ids.csv", "id\n0\n1\n4\n"}};
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    folder.write(name, content);
    CHECK(folder.listen(mask_toml(name)).find("mask") == std::string::npos);
    CHECK(folder.train() == kMasked);
  }
  folder.write("two.csv", "id\n0\n1\n");
  folder.listen(mask_toml("two.csv"));
  CHECK(folder.train() == std::vector<std::uint64_t>{0, 1});
  folder.write("e.csv", "src,dst\n0,1\n");
  const std::string said = folder.listen(
      "[[nodes]]\ncount = 2\n[[edges]]\nfile = 'e.csv'\n[[splits]]\ntrain = 'two.csv'\n");
  CHECK(says(said, "warning: two.csv: 0 and 1 are taken as ids here"));
  CHECK(folder.train() == std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("masks: bool as edges and as a list of ids is an error that names the file") {
  const auto bools = array_of(arrow::boolean(), "[true,false,true]");
  const auto pairs = array_of(arrow::fixed_size_list(arrow::boolean(), 2), "[[true,false]]");
  struct Refused {
    std::string file, content, toml;
  };
  const std::string edges = "[[edges]]\nfile = 'e.csv'\n";
  const std::vector<Refused> all{
      {"p.npy", npy("|b1", "(3, 2)", std::string(6, '\1')), "[[edges]]\nfile = 'p.npy'\n"},
      {"t.npy", npy("|b1", "(2, 3)", std::string(6, '\1')), "[[edges]]\nfile = 't.npy'\n"},
      {"m.npy", npy("|b1", "(3, 3)", std::string(9, '\1')), "[[edges]]\nfile = 'm.npy'\n"},
      {"c.npz",
       npz({{"src.npy", npy_bools({1, 0})}, {"dst.npy", npy_bools({0, 1})}}),
       "[[edges]]\nfile = 'c.npz'\n"},
      {"c.parquet",
       parquet_of(*table_of({{"src", bools}, {"dst", bools}})),
       "[[edges]]\nfile = 'c.parquet'\n"},
      {"s.parquet",
       parquet_of(*table_of({{"src", bools}, {"dst", bools}})),
       "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 's.parquet'\n"},
      {"p.parquet", parquet_of(*table_of({{"e", pairs}})), "[[edges]]\nfile = 'p.parquet'\n"},
      {"c.csv", "src,dst\nTrue,False\n", "[[edges]]\nfile = 'c.csv'\n"},
      {"l.npy",
       npy_bools({1, 0, 1}),
       "[[nodes]]\nids = 'integer'\nid_list.file = 'l.npy'\n" + edges},
      {"l.csv",
       "id\nTrue\nFalse\n",
       "[[nodes]]\nids = 'integer'\nid_list.file = 'l.csv'\n" + edges}};
  for (const Refused& one : all) {
    CAPTURE(one.file);
    RolesFolder folder;
    folder.write("e.csv", "src,dst\n0,1\n");
    folder.write(one.file, one.content);
    const std::string text = folder.refusal(one.toml);
    CHECK(says(text, "data|ROOT/raw/" + one.file));
    CHECK(says(text, "bool, where ids are asked"));
    CHECK(text.find("say ids = \"string\"") == std::string::npos);
  }
}
