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

TEST_CASE("another split of edges measures weights where its edges stand apart from the graph") {
  const TempDir dir;
  dir.write("own/new.csv", "source,target\n0,5\n2,9\n");
  dir.write("own/more.csv", "source,target\n1,7\n3,8\n");
  OwnGraph graph;
  const std::string apart = "valid = \"new.csv\"\ntest = \"more.csv\"\n";
  const std::string drawn = "ratio = [0.5, 0.25, 0.25]\n";
  for (const auto& [name, parts] : {std::pair("drawn", drawn), {"again", drawn}, {"apart", apart}})
    graph.more += std::string("[[splits]]\nof = \"edges\"\nname = \"") + name + "\"\n" + parts;
  graph.import(dir, dir / "data");
  Quiet quiet;
  (void)run_training(options_of(short_config(dir, dir / "data"),
                                {"task.type=link_prediction", "dataset.split=drawn"}),
                     RunDirectory::Mode::kNew,
                     quiet.context);
  const auto measured = [&](const std::string& split) {
    return evaluate_run((dir / "run").string(),
                        {"dataset.split=" + split},
                        {Part::kTest, CheckpointKind::kLast},
                        quiet.context);
  };
  CHECK(measured("apart").metrics.count("test.auc") == 1);
  const Error error = expect_error([&] { (void)measured("again"); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(std::string(error.what()).find("may be links that were trained on") != std::string::npos);
}
