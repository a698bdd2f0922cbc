// The YAML files of DGL's data sets: parsed, and described as a GraphSpec beside files that they
// may name.
#include "fuzz/npy_bytes.h"
#include "fuzz/targets.h"
#include "prep/layout/dgl.h"
#include "registry/core.h"
#include "support/temp_dir.h"

#include <filesystem>

namespace sluice::fuzz {
namespace {

/// A folder with a few files of a data set, but for the YAML.
class DataSet {
 public:
  DataSet() {
    folder_.write("edges.csv", "0,1\n1,2\n2,0\n");
    folder_.write("e.csv", "src_id,dst_id,feat,label\n0,1,\"1,2\",0\n1,0,\"3,4\",1\n");
    folder_.write("n.csv", "node_id,feat,label,train_mask\n0,\"1,2\",0,1\n1,\"3,4\",1,0\n");
    const std::string eight(8, '\0');
    folder_.write("x.npy", npy_file("<f4", "(3, 2)", eight + eight + eight));
    folder_.write("y.npy", npy_file("<i8", "(3,)", eight + eight + eight));
  }

  void describe(std::string_view yaml, const char* name) {
    folder_.write(name, yaml);
    const FileSet files({folder_.path().string()}, {}, formats_, ledger_, arena_);
    const auto refused = refusal_of([&] {
      const DglLayout layout{Layout::Options{}};
      expect(layout.recognise(files).has_value(), "it is known by its name");
      Description made = layout.describe(files);
      complete_spec(made.spec);
      expect(!made.spec.edges.empty(), "a graph has edges");
    });
    std::filesystem::remove(folder_ / name);
    expect(ledger_.used() == 0, "all memory is given back");
  }

 private:
  test::TempDir folder_;
  TableFormats formats_ = table_formats();
  MemoryLedger ledger_{256 << 20, "--memory"};
  ThreadArena arena_{1};
};

void body(std::string_view bytes) {
  static DataSet data;
  Input input(bytes);
  const char* const name = input.choose(2) == 0 ? "metadata.yaml" : "meta.yaml";
  data.describe(input.rest(), name);
}

std::vector<std::string> seeds() {
  return {
      "0dataset_name: a\ngraph:\n  nodes:\n  - type: user\n    num: 3\n  edges:\n"
      "  - type: user:follow:user\n    format: csv\n    path: edges.csv\n"
      "feature_data:\n- domain: node\n  type: user\n  name: feat\n  format: numpy\n"
      "  path: x.npy\ntasks:\n- name: t\n  num_classes: 2\n  train_set:\n  - type: user\n"
      "    data:\n    - name: seeds\n      format: numpy\n      path: y.npy\n"
      "    - name: labels\n      format: numpy\n      path: y.npy\n",
      "0graph:\n  nodes: [{num: 3}]\n  edges: [{format: csv, path: edges.csv}]\n",
      "1dataset_name: a\nedge_data:\n- file_name: e.csv\n  etype: [user, follow, user]\n"
      "node_data:\n- file_name: n.csv\n  ntype: user\n",
      "1edge_data:\n- file_name: e.csv\nseparator: ','\n",
      "0graph: &a [*a]\n",
      "0graph:\n  edges: 1\n",
      "0" + std::string(2000, '['),
      "0" + std::string(600, '-') + "\n? : ? :\n"};
}

}  // namespace

Target layout_target() {
  return {"layout",
          body,
          seeds,
          {"graph:",
           "edges:",
           "nodes:",
           "type: ",
           "path: ",
           "format: ",
           "num: ",
           "feature_data:",
           "tasks:",
           "train_set:",
           "data:",
           "edge_data:",
           "file_name: ",
           "etype: ",
           "- ",
           "null"}};
}

}  // namespace sluice::fuzz
