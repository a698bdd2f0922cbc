// What reorder keeps beside edges: what relations are called, and types without nodes.
#include "import_support.h"
#include "prep/check/verify.h"
#include "prep/order/reorder.h"
#include "silent_session.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("reorder keeps what relations are called, and what append does with their edges") {
  ImportFolder folder;
  SilentSession session;
  folder.write("e.csv", "src,dst,r\n0,1,film/actor\n1,2,film/actor\n2,0,film/actor\n");
  folder.run(
      "[[edges]]\nfile = 'e.csv'\ntype_column = 'r'\nduplicates = 'drop'\nself_loops = 'drop'\n");
  const Catalog<NodeOrder> orders = node_orders();
  const auto order = orders.create({"degree", orders.make_options("degree")});
  const std::filesystem::path out = folder.dir / "out" / "reordered";
  reorder_dataset({folder.out(), out, Overwrite::kRefuse, "", "test"}, *order, session.context);
  const Dataset dataset = Dataset::open(out.string());
  const RelationSchema& relation = dataset.schema().relations.at(0);
  CHECK(relation.title == "film/actor");
  CHECK(relation.duplicates == "drop");
  CHECK(relation.self_loops == "drop");
}

TEST_CASE("types without nodes and relations without edges are reordered too") {
  ImportFolder folder;
  SilentSession session;
  folder.write("a.csv", "src,dst\n0,1\n2,1\n2,0\n");
  folder.write("none.csv", "src,dst\n");
  folder.run(
      "[[nodes]]\ntype = 'a'\n[[nodes]]\ntype = 'empty'\ncount = 0\n"
      "[[edges]]\nrelation = 'r'\nsource = 'a'\ntarget = 'a'\nfile = 'a.csv'\n"
      "[[edges]]\nrelation = 'own'\nsource = 'empty'\ntarget = 'empty'\nfile = 'none.csv'\n"
      "[[edges]]\nrelation = 'to'\nsource = 'a'\ntarget = 'empty'\nfile = 'none.csv'\n"
      "reverse = 'from'\n");
  const Catalog<NodeOrder> orders = node_orders();
  for (const auto& entry : orders.list()) {
    for (const std::string type : {"", "empty"}) {
      CAPTURE(entry.name);
      CAPTURE(type);
      const auto order = orders.create({entry.name, orders.make_options(entry.name)});
      const std::filesystem::path out = folder.dir / "out" / (entry.name + type);
      const ReorderReport report = reorder_dataset(
          {folder.out(), out, Overwrite::kRefuse, type, "test"}, *order, session.context);
      CHECK(report.types.back().touches.batches == 0);
      CHECK(report.types.back().touches.ratio() == 1);
      const VerifyReport found = verify_dataset(out.string(), session.context);
      CHECK(found.problems == std::vector<std::string>());
      CHECK(found.strangers == std::vector<std::string>());
      CHECK(Dataset::open(out.string()).schema().node_type("empty")->count == 0);
    }
  }
}
