// Weights are measured by another split only on nodes that they were not trained on.
#include "support/expect_error.h"
#include "support/own_graph.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <string>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("another split measures weights where it asks about no node that they were trained on") {
  const TempDir dir;
  dir.write("own/few.csv", "id\n0\n1\n");
  dir.write("own/held.csv", "id\n5\n9\n");
  dir.write("own/later.csv", "id\n6\n11\n");
  OwnGraph graph;
  graph.more =
      "[[splits]]\nname = \"overlapping\"\ntrain = \"few.csv\"\ntest = \"held.csv\"\n"
      "[[splits]]\nname = \"apart\"\ntrain = \"few.csv\"\ntest = \"later.csv\"\n";
  graph.import(dir, dir / "data");
  Quiet quiet;
  (void)run_training(
      options_of(short_config(dir, dir / "data")), RunDirectory::Mode::kNew, quiet.context);
  const auto measured = [&](const std::string& split) {
    return evaluate_run((dir / "run").string(),
                        {"dataset.split=" + split},
                        {Part::kTest, CheckpointKind::kLast},
                        quiet.context);
  };
  CHECK(measured("apart").metrics.count("test.accuracy") == 1);
  const Error error = expect_error([&] { (void)measured("overlapping"); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(std::string(error.what()).find("1 of the nodes that it validates or tests were trained") !=
        std::string::npos);
}
