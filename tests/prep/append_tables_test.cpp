// Nodes appended to types whose feature tables are not called `features`, or are several.
#include "attached_support.h"
#include "import_support.h"
#include "prep/check/inspect.h"
#include "prep/check/verify.h"
#include "prep/update/append.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Three nodes with a table `vectors` of two columns, and nothing else.
struct NodesWithVectors {
  ImportFolder folder;
  PropagationSession session;

  NodesWithVectors() {
    folder.write("edges.csv", "src,dst\n0,1\n2,1\n");
    folder.run("[[nodes]]\ncount = 3\n[[edges]]\nfile = \"edges.csv\"\n");
    attach("vectors", {1, 2, 3, 4, 5, 6});
  }

  void attach(const std::string& name, const std::vector<float>& values) {
    const std::filesystem::path rows = folder.dir / "rows.safetensors";
    write_embedded(rows, values, 2);
    AttachOptions options = attach_options(folder.out(), rows);
    options.node_type = "node";
    options.name = name;
    (void)attach_table(options, session.context);
  }

  UpdateReport append(const std::string& toml) {
    const TableFormats formats = table_formats();
    GraphSpec spec(formats);
    Config::parse(toml, "append.toml").bind_to(spec);
    return append_to_dataset(
        folder.out(), std::move(spec), formats, folder.dir / "raw", "test", session.context);
  }
};

}  // namespace

TEST_CASE("rows of appended nodes go into the type's table, whatever it is called") {
  NodesWithVectors data;
  data.folder.write("more.npy", npy_rows(2, 2, {7, 8, 9, 10}));
  CHECK(data.append("[[nodes]]\nfeatures.file = \"more.npy\"\n").nodes == 2);
  const std::filesystem::path out = data.folder.out();
  const Dataset dataset = Dataset::open(out.string());
  REQUIRE(dataset.schema().nodes[0].count == 5);
  const std::vector<FeatureSchema>& tables = dataset.schema().nodes[0].features;
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].name == "vectors");
  CHECK(tables[0].rows == 5);
  CHECK(read_table(out, "node", "vectors").values ==
        std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK_FALSE(std::filesystem::exists(out / "nodes/node/features.bin"));
  const VerifyReport verified = verify_dataset(out.string(), data.session.context);
  CHECK(verified.problems == std::vector<std::string>());
  CHECK(verified.strangers == std::vector<std::string>());
  CHECK(data.session.ledger.used() == 0);
}

TEST_CASE("nodes of a type with several tables are refused by the names of these") {
  NodesWithVectors data;
  data.attach("scores", {0, 1, 0, 1, 0, 1});
  data.folder.write("more.npy", npy_rows(2, 2, {7, 8, 9, 10}));
  const std::string before = read_all(data.folder.out() / "manifest.json");
  for (const char* toml : {"[[nodes]]\nfeatures.file = \"more.npy\"\n", "[[nodes]]\ncount = 5\n"}) {
    CAPTURE(toml);
    const Error error = expect_error([&] { (void)data.append(toml); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message() ==
          "[[nodes]] 'node': new nodes need rows of 2 feature tables ('vectors', 'scores'), and "
          "features gives those of one");
    CHECK(error.hint() == "import the dataset again with all nodes, then propagate and attach");
  }
  CHECK(read_all(data.folder.out() / "manifest.json") == before);
}

TEST_CASE("inspect names each table of a type, and says how many edges were appended") {
  NodesWithVectors data;
  data.attach("scores", {0, 1, 0, 1, 0, 1});
  const auto inspect = [&] {
    return to_text(inspect_dataset(data.folder.out().string(), data.session.context));
  };
  const std::string before = inspect();
  CAPTURE(before);
  CHECK(before.find("    features: 'vectors' 2 x f32 (4 KiB, 8 B a row, 512 a page)\n"
                    "              'scores' 2 x f32 (4 KiB, 8 B a row, 512 a page)\n") !=
        std::string::npos);
  CHECK(before.find("appended") == std::string::npos);
  data.folder.write("more.csv", "src,dst\n0,2\n1,2\n1,0\n");
  CHECK(data.append("[[edges]]\nfile = \"more.csv\"\n").edges == 3);
  const std::string after = inspect();
  CAPTURE(after);
  CHECK(after.find("3 nodes, 2 edges and 3 appended, ") == 0);
  CHECK(after.find("edges 'node__edge__node': 2 and 3 appended\n") != std::string::npos);
}
