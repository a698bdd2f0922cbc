// What the guess makes of masks: files, and columns of tables of nodes.
#include "case_folder.h"
#include "prep/arrow_files.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using NodeNames = std::vector<std::string>;

std::string bool_npy(const std::vector<int>& bits) {
  std::string bytes;
  for (const int bit : bits) bytes += static_cast<char>(bit);
  return npy("|b1", fmt::format("({},)", bits.size()), bytes);
}

/// Six nodes and five edges, with features.
struct MaskFolder : CaseFolder {
  void write_graph() const {
    write("edge_index.npy", npy_pairs("(2, 5)", {0, 1, 2, 3, 4, 1, 2, 3, 4, 5}));
    write("x.npy", npy_rows(6, 1, {0, 1, 2, 3, 4, 5}));
  }
  void write_masks() const {
    write("train_mask.npy", bool_npy({1, 1, 0, 0, 1, 0}));
    write("val_mask.npy", bool_npy({0, 0, 1, 0, 0, 0}));
    write("test_mask.npy", bool_npy({0, 0, 0, 1, 0, 1}));
  }
};

/// The ids of the nodes of train, valid and test.
std::vector<NodeNames> parts_of(const Dataset& dataset,
                                const std::string& split = "default",
                                const std::string& type = "node") {
  const Split parts = dataset.split(split);
  std::vector<NodeNames> all;
  for (const Array* part : {&parts.train, &parts.valid, &parts.test}) {
    all.emplace_back();
    for (const std::uint64_t node : as_vector(*part))
      all.back().push_back(dataset.ids(type).text(node));
  }
  return all;
}

const std::vector<NodeNames> kSixNodes{{"0", "1", "4"}, {"2"}, {"3", "5"}};

/// That one warning says all of this, and that there is no split.
void check_left_out(const LayoutFolder::Described& described, const std::string& text) {
  CAPTURE(fmt::format("{}", fmt::join(described.warnings, "\n")));
  CHECK(std::count_if(described.warnings.begin(),
                      described.warnings.end(),
                      [&](const std::string& warning) { return has(warning, text); }) == 1);
  CHECK(described.spec.splits.empty());
}

}  // namespace

TEST_CASE("guessed masks: files of masks are the split") {
  MaskFolder folder;
  folder.write_graph();
  folder.write_masks();
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  CHECK(has(on_one_line(described.toml), "A mask: one truth value for each node, in their order."));
  CHECK(has(described.toml, "train = \"train_mask.npy\"\n"));
  CHECK(described.spec.splits.at(0).columns.empty());
  CHECK(parts_of(folder.by_guess(described).dataset) == kSixNodes);
  // The same in texts, with a header and without, and with an index beside it.
  std::filesystem::remove(folder.dir / "raw/val_mask.npy");
  folder.write("val_mask.txt", "False\nFalse\nTrue\nFalse\nFalse\nFalse\n");
  std::filesystem::remove(folder.dir / "raw/test_mask.npy");
  folder.write("test_mask.csv", ",test_mask\n0,False\n1,False\n2,False\n3,True\n4,False\n5,True\n");
  const auto texts = folder.describe();
  CHECK(texts.warnings.empty());
  CHECK(texts.spec.splits.at(0).columns == NodeNames{"", "", "test_mask"});
  CHECK(parts_of(folder.by_guess(texts).dataset) == kSixNodes);
}

TEST_CASE("guessed masks: of text with a header, whatever else there is") {
  MaskFolder folder;
  folder.write_graph();
  folder.write("train_mask.csv", "train_mask\nTrue\nTrue\nFalse\nFalse\nTrue\nFalse\n");
  const auto made = folder.by_guess();
  CHECK(parts_of(made.dataset)[0] == NodeNames{"0", "1", "4"});
  folder.write("train_mask.csv", "True\nTrue\nFalse\nFalse\nTrue\nFalse\n");
  CHECK(parts_of(folder.by_guess().dataset)[0] == NodeNames{"0", "1", "4"});
}

TEST_CASE("guessed masks: alone they say how many nodes there are") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n1,2\n2,0\n");
  folder.write("train_mask.npy", bool_npy({1, 0, 0, 1, 0}));
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  CHECK(described.spec.nodes.at(0).count == 5);
  CHECK(parts_of(folder.by_guess(described).dataset)[0] == NodeNames{"0", "3"});
  // From 1 on.
  folder.write("e.csv", "src,dst\n1,2\n2,5\n4,3\n3,1\n");
  CHECK(parts_of(folder.by_guess().dataset)[0] == NodeNames{"1", "4"});
  // Not where they are too short, or may be of edges.
  folder.write("e.csv", "src,dst\n0,1\n1,2\n2,3\n3,7\n");
  check_left_out(folder.describe(), "train_mask.npy: it has 5 rows, and edges name the node 7");
  folder.write("e.csv", "src,dst\n0,1\n1,2\n2,0\n2,1\n1,0\n");
  check_left_out(folder.describe(), "train_mask.npy: it has as many rows as there are edges");
}

TEST_CASE("guessed masks: files of ids come first, and masks are the other parts") {
  MaskFolder folder;
  folder.write_graph();
  folder.write_masks();
  folder.write("idx_train.npy", npy_ids({5, 4}));
  folder.write("idx_test.npy", npy_ids({0}));
  const auto described = folder.describe();
  CHECK(described.warnings ==
        NodeNames{"test_mask.npy, train_mask.npy: these parts of the split are those of "
                  "idx_test.npy, idx_train.npy already"});
  CHECK(parts_of(folder.by_guess(described).dataset) ==
        std::vector<NodeNames>{{"4", "5"}, {"2"}, {"0"}});
}

TEST_CASE("guessed masks: columns of a table go with its ids, in any order") {
  CaseFolder folder;
  folder.write("edges.csv", "src,dst\n0,1\n1,2\n2,3\n3,4\n4,5\n");
  folder.write("nodes.csv",
               "id,x,train_mask,val_mask,test_mask\n3,3.5,0,0,1\n0,0.5,1,0,0\n5,5.5,0,0,1\n"
               "1,1.5,1,0,0\n4,4.5,1,0,0\n2,2.5,0,1,0\n");
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  const SplitSpec& split = described.spec.splits.at(0);
  CHECK(split.columns == NodeNames{"train_mask", "val_mask", "test_mask"});
  CHECK(split.valid == "nodes.csv");
  CHECK(described.spec.nodes.at(0).features.columns == NodeNames{"x"});
  const auto made = folder.by_guess(described);
  CHECK(names_of(made.dataset, "node") == NodeNames{"3", "0", "5", "1", "4", "2"});
  CHECK(parts_of(made.dataset) == std::vector<NodeNames>{{"0", "1", "4"}, {"2"}, {"3", "5"}});
  // In order, from 1 on, as words.
  folder.write("edges.csv", "src,dst\n1,2\n2,3\n3,1\n");
  folder.write(
      "nodes.csv",
      "id,x,train_mask,valid_mask\n1,0.5,False,True\n2,1.5,True,False\n3,2.5,True,False\n");
  const auto counted = folder.describe();
  CHECK(counted.spec.nodes.at(0).first_id == 1);
  CHECK(parts_of(folder.by_guess(counted).dataset) ==
        std::vector<NodeNames>{{"2", "3"}, {"1"}, {}});
}

TEST_CASE("guessed masks: columns of Parquet, and of lists, which are several splits") {
  CaseFolder folder;
  folder.write("edges.csv", "src,dst\nann,bob\nbob,cid\n");
  const auto lists = array_of(arrow::fixed_size_list(arrow::boolean(), 2),
                              "[[true,false],[false,true],[true,true]]");
  const auto table = table_of({{"id", array_of(arrow::utf8(), R"(["cid","ann","bob"])")},
                               {"x", array_of(arrow::float32(), "[3,1,2]")},
                               {"train_mask", array_of(arrow::boolean(), "[true,false,true]")},
                               {"test_mask", array_of(arrow::boolean(), "[false,true,false]")},
                               {"val_mask", lists}});
  folder.write("nodes.parquet", parquet_of(*table));
  const auto described = folder.describe();
  CHECK(has(on_one_line(described.toml), "val_mask (several splits side by side"));
  const auto made = folder.by_guess(described);
  CHECK(features_of(folder, made.dataset) == std::vector<float>{3, 1, 2});
  CHECK(parts_of(made.dataset) == std::vector<NodeNames>{{"cid", "bob"}, {}, {"ann"}});
}

TEST_CASE("guessed masks: a second table of the same nodes goes by its ids") {
  CaseFolder folder;
  folder.write("follows.csv", "from,to\nann,bob\nbob,cid\n");
  folder.write("a.csv", "id,age\nann,31.5\nbob,44.5\ncid,27.5\n");
  folder.write("b.csv",
               "who,train_mask,test_mask\ncid,True,False\nann,False,True\nbob,False,False\n");
  const auto described = folder.describe();
  CHECK(described.spec.splits.at(0).id_column == "who");
  CHECK(parts_of(folder.by_guess(described).dataset) ==
        std::vector<NodeNames>{{"cid"}, {}, {"ann"}});
}

TEST_CASE("guessed masks: a file beside a table of nodes stands in its order, or is left out") {
  CaseFolder folder;
  folder.write("edges.csv", "src,dst\n70,10\n10,5000\n5000,30\n");
  folder.write("nodes.csv", "id,x\n5000,0.5\n70,1.5\n10,2.5\n30,3.5\n");
  folder.write("train_mask.npy", bool_npy({1, 0, 0, 1}));
  const auto described = folder.describe();
  CHECK(has(on_one_line(described.toml),
            "one truth value for each node, in the order of nodes.csv."));
  CHECK(parts_of(folder.by_guess(described).dataset)[0] == NodeNames{"5000", "30"});
  // Of numbers 0 to 3 in another order nothing tells which is meant.
  folder.write("edges.csv", "src,dst\n0,1\n1,2\n2,3\n");
  folder.write("nodes.csv", "id,x\n3,0.5\n0,1.5\n2,2.5\n1,3.5\n");
  check_left_out(folder.describe(),
                 "train_mask.npy: nodes.csv lists the nodes in another order than that of their "
                 "numbers, and nothing tells in which of the two this mask is");
  // Ids beside it do.
  folder.write("train_mask.csv", "id,train_mask\n1,True\n3,False\n2,False\n0,True\n");
  std::filesystem::remove(folder.dir / "raw/train_mask.npy");
  CHECK(parts_of(folder.by_guess().dataset)[0] == NodeNames{"0", "1"});
}

TEST_CASE("guessed masks: what is no mask of the nodes is left out, and said") {
  struct Row {
    std::string what, content, text;
  };
  MaskFolder folder;
  folder.write_graph();
  for (const Row& row : std::vector<Row>{
           {"another length", bool_npy({1, 0, 1}), "it has 3 rows, and there are 6 nodes of type"},
           {"ids", npy_ids({0, 2, 4}), "is not one column of True and False"},
           {"several splits",
            npy("|b1", "(6, 3)", std::string(18, '\1')),
            "train_mask.npy: [6, 3] is several splits side by side: save one of them as a mask of "
            "one dimension, in Python numpy.load('train_mask.npy')[:, 0]"},
           {"several, as rows",
            npy("|u1", "(2, 6)", std::string(12, '\1')),
            "train_mask.npy: [2, 6] is several splits side by side: save one of them as a mask of "
            "one dimension, in Python numpy.load('train_mask.npy')[0]"}}) {
    CAPTURE(row.what);
    folder.write("train_mask.npy", row.content);
    const auto described = folder.describe();
    check_left_out(described, row.text);
    CHECK(folder.by_guess(described).dataset.schema().nodes[0].count == 6);
  }
  folder.write_masks();
  std::filesystem::remove(folder.dir / "raw/train_mask.npy");
  check_left_out(folder.describe(), "the split default: it has no train file");
}

TEST_CASE("guessed masks: several splits in each of the files are one sentence") {
  MaskFolder folder;
  folder.write_graph();
  for (const char* name : {"train_mask.npy", "val_mask.npy", "test_mask.npy"})
    folder.write(name, npy("|b1", "(6, 10)", std::string(60, '\1')));
  const auto described = folder.describe();
  CHECK(described.warnings.size() == 1);
  check_left_out(
      described,
      "test_mask.npy, train_mask.npy, val_mask.npy: [6, 10] is several splits side by side");
  // One file a split.
  MaskFolder numbered;
  numbered.write_graph();
  numbered.write("train_mask_0.npy", bool_npy({1, 1, 0, 0, 0, 0}));
  numbered.write("train_mask_1.npy", bool_npy({0, 0, 1, 0, 0, 0}));
  const auto made = numbered.by_guess();
  CHECK(parts_of(made.dataset, "0")[0] == NodeNames{"0", "1"});
  CHECK(parts_of(made.dataset, "1")[0] == NodeNames{"2"});
}

TEST_CASE("guessed masks: without a train part, or an order, there is no split") {
  CaseFolder folder;
  folder.write("edges.csv", "src,dst\nann,bob\nbob,cid\n");
  folder.write("train_mask.npy", bool_npy({1, 0, 1}));
  check_left_out(folder.describe(),
                 "train_mask.npy: the ids of 'node' are not 0, 1, 2, ..., and nothing tells their "
                 "order");
  std::filesystem::remove(folder.dir / "raw/train_mask.npy");
  folder.write("nodes.csv",
               "id,x,val_mask,test_mask\nann,0.5,True,False\nbob,1.5,False,True\n"
               "cid,2.5,False,False\n");
  check_left_out(folder.describe(),
                 "nodes.csv: val_mask, test_mask: without a train_mask this is no split");
}

TEST_CASE("guessed masks: columns among features are no features") {
  CaseFolder folder;
  folder.write("edges.csv", "src,dst\n0,1\n1,2\n");
  folder.write("features.csv", "id,a,train_mask\n1,1.5,1\n0,0.5,0\n2,2.5,1\n");
  const auto described = folder.describe();
  check_left_out(described, "features.csv: the columns train_mask are masks, and no features");
  const auto made = folder.by_guess(described);
  CHECK(features_of(folder, made.dataset).size() == 3);
}

TEST_CASE("guessed masks: of one of several types, by its name") {
  CaseFolder folder;
  folder.write("paper__author.csv", "paper,author\n0,0\n1,0\n2,1\n3,2\n");
  folder.write("paper_labels.npy", npy_ids({0, 1, 0, 1}));
  folder.write("author_labels.npy", npy_ids({0, 1, 0}));
  folder.write("author_train_mask.npy", bool_npy({0, 1, 1}));
  folder.write("paper_train_mask.npy", bool_npy({1, 0, 0, 1}));
  const auto made = folder.by_guess();
  CHECK(parts_of(made.dataset, "default", "author")[0] == NodeNames{"1", "2"});
  CHECK(parts_of(made.dataset, "paper", "paper")[0] == NodeNames{"0", "3"});
}

TEST_CASE("guessed masks: labels of a part stand beside ids") {
  MaskFolder folder;
  folder.write_graph();
  folder.write_masks();
  folder.write("y_train.npy", npy_ids({1, 0, 1}));
  const auto described = folder.describe();
  CHECK(described.warnings ==
        NodeNames{"y_train.npy: labels of a part stand beside ids, and train_mask.npy is a mask"});
  CHECK(parts_of(folder.by_guess(described).dataset) == kSixNodes);
}
