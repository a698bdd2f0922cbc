// Many labels a node, in columns that have names.
#include "prep/import_support.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kEdges = "[[edges]]\nfile = 'e.csv'\n";

LabelSchema labels_of(const ImportFolder& folder, const std::string& keys) {
  folder.run("[[nodes]]\n" + keys + kEdges, Overwrite::kReplace);
  return *Dataset::open(folder.out().string()).schema().nodes[0].labels;
}

}  // namespace

TEST_CASE(
    "multi-label: classes are called as their columns, in the order in which these are named") {
  const ImportFolder folder;
  folder.write("e.csv", "source,target\n0,1\n1,0\n");
  folder.write("y.csv", "id,round,it's red,small\n0,1,0,0\n1,0,1,1\n");
  const std::string kind = "kind = 'multi_label'";
  const LabelSchema all = labels_of(
      folder,
      "labels = { file = 'y.csv', columns = ['small', 'round', \"it's red\"], " + kind + " }\n");
  CHECK(all.kind == LabelKind::kMultiLabel);
  CHECK((all.names == std::vector<std::string>{"small", "round", "it's red"}));
  const Array bits = Dataset::open(folder.out().string()).labels("node");
  CHECK(bits.as<std::uint8_t>()[0] == 0b010);
  CHECK(bits.as<std::uint8_t>()[1] == 0b101);
  const LabelSchema by_id =
      labels_of(folder,
                "labels = { file = 'y.csv', id_column = 'id', columns = ['round', 'small'], " +
                    kind + " }\n");
  CHECK((by_id.names == std::vector<std::string>{"round", "small"}));
  // One column is one class; names that number the columns are none.
  CHECK((
      labels_of(folder, "labels = { file = 'y.csv', columns = ['round'], " + kind + " }\n").names ==
      std::vector<std::string>{"round"}));
  folder.write("plain.csv", "c0,c1\n1,0\n0,1\n");
  CHECK(labels_of(folder, "labels = { file = 'plain.csv', columns = ['c0', 'c1'], " + kind + " }\n")
            .names.empty());
}

TEST_CASE("multi-label: labels beside splits keep their columns in one order") {
  const ImportFolder folder;
  folder.write("e.csv", "source,target\n0,1\n1,2\n2,0\n");
  folder.write("train.csv", "id\n0\n1\n");
  folder.write("test.csv", "id\n2\n");
  folder.write("train_y.csv", "big,red\n1,0\n0,1\n");
  folder.write("test_y.csv", "red,big\n1,0\n");
  const std::string splits =
      "[[splits]]\ntrain = 'train.csv'\ntrain_labels = 'train_y.csv'\ntest = 'test.csv'\n"
      "test_labels = 'test_y.csv'\nnode_type = 'node'\n";
  const Error error = expect_error(
      [&] { folder.run("[[nodes]]\nlabels = { kind = 'multi_label' }\n" + kEdges + splits); });
  CHECK(error.code() == ErrorCode::kData);
}
