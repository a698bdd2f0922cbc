// Labels that stand beside the seeds of splits, as in GraphBolt's tutorial.
#include "case_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

std::string set_of(const std::string& name, const std::string& files, const std::string& type) {
  return fmt::format(
      "    {0}_set:\n      - {2}data:\n"
      "          - {{name: seeds, format: numpy, path: {1}-seeds.npy}}\n"
      "          - {{name: labels, format: numpy, path: {1}-labels.npy}}\n",
      name,
      files,
      type.empty() ? "" : "type: " + type + "\n        ");
}

std::string task_of(const std::string& type) {
  return "tasks:\n  - name: node_classification\n    num_classes: 3\n" +
         set_of("train", "train", type) + set_of("validation", "val", type) +
         set_of("test", "test", type);
}

void write_sets(const CaseFolder& folder) {
  folder.write("edges.csv", "0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n");
  folder.write("train-seeds.npy", npy_ids({2, 0, 1}));
  folder.write("train-labels.npy", npy_ids({0, 2, 2}));
  folder.write("val-seeds.npy", npy_ids({5}));
  folder.write("val-labels.npy", npy_ids({0}));
  folder.write("test-seeds.npy", npy_ids({4}));
  folder.write("test-labels.npy", npy_ids({1}));
}

const std::vector<std::int32_t> kSeedLabels{2, 2, 0, -1, 1, 0};

}  // namespace

TEST_CASE("seeds: labels of one node type") {
  CaseFolder folder;
  write_sets(folder);
  folder.write("x.npy", npy_rows(6, 2, std::vector<float>(12, 1)));
  folder.write("metadata.yaml",
               "dataset_name: x\ngraph:\n  nodes:\n    - num: 6\n  edges:\n    - format: csv\n"
               "      path: edges.csv\nfeature_data:\n"
               "  - {domain: node, name: feat, format: numpy, path: x.npy}\n" +
                   task_of(""));
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  const auto made = folder.by_guess(described);
  CHECK(labels_of(made.dataset) == kSeedLabels);
  const GraphSchema& schema = made.dataset.schema();
  CHECK(schema.nodes[0].labels->width == 3);
  CHECK(schema.nodes[0].features.at(0).dim == 2);
  CHECK(schema.splits.at(0).train == 3);
  CHECK(schema.splits.at(0).valid == 1);
  CHECK(schema.splits.at(0).test == 1);
}

TEST_CASE("seeds: labels of one of several node types, in some sets alone") {
  CaseFolder folder;
  write_sets(folder);
  folder.write("metadata.yaml",
               "dataset_name: x\ngraph:\n  nodes:\n    - {type: item, num: 6}\n"
               "    - {type: user, num: 6}\n  edges:\n"
               "    - {type: 'user:buys:item', format: csv, path: edges.csv}\n"
               "tasks:\n  - name: t\n" +
                   set_of("train", "train", "user"));
  const auto made = folder.by_guess();
  CHECK(labels_of(made.dataset, "user") == std::vector<std::int32_t>{2, 2, 0, -1, -1, -1});
  CHECK_FALSE(made.dataset.schema().nodes[0].labels.has_value());
}

TEST_CASE("seeds: labels of all nodes come first") {
  CaseFolder folder;
  write_sets(folder);
  folder.write("y.npy", npy_ids({1, 1, 1, 1, 1, 1}));
  folder.write("metadata.yaml",
               "dataset_name: x\ngraph:\n  nodes:\n    - num: 6\n  edges:\n    - format: csv\n"
               "      path: edges.csv\nfeature_data:\n"
               "  - {domain: node, name: label, format: numpy, path: y.npy}\n" +
                   task_of(""));
  CHECK(labels_of(folder.by_guess().dataset) == std::vector<std::int32_t>{1, 1, 1, 1, 1, 1});
}

TEST_CASE("seeds: by graph.toml, and by names of files") {
  CaseFolder folder;
  write_sets(folder);
  folder.write("e.csv", "s,t\n0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n");
  const std::string split =
      "[[splits]]\ntrain = 'train-seeds.npy'\ntrain_labels = 'train-labels.npy'\n"
      "valid = 'val-seeds.npy'\nvalid_labels = 'val-labels.npy'\n"
      "test = 'test-seeds.npy'\ntest_labels = 'test-labels.npy'\n";
  const std::string edges = "[[edges]]\nfile = 'e.csv'\n";
  CHECK(labels_of(folder.by_toml(edges + split).dataset) == kSeedLabels);
  // Faults.
  folder.write("test-labels.npy", npy_ids({1, 2}));
  CHECK(has(folder.refusal(edges + split), "2 rows for the 1 ids of test-seeds.npy"));
  folder.write("test-labels.npy", npy_ids({1}));
  folder.write("test-seeds.npy", npy_ids({0}));
  CHECK(has(folder.refusal(edges + split), "node 0 has another label in another part"));
  CHECK(has(folder.refusal(edges + "[[splits]]\ntrain = 'train-seeds.npy'\n"
                                   "test_labels = 'test-labels.npy'\n"),
            "test_labels without test"));

  CaseFolder names;
  names.write("edges.csv", "src,dst\n0,1\n1,2\n2,0\n");
  names.write("idx_train.npy", npy_ids({2, 0}));
  names.write("y_train.npy", npy_ids({1, 0}));
  CHECK(labels_of(names.by_guess().dataset) == std::vector<std::int32_t>{0, -1, 1});
}
