// The configs of scores of pairs in configs/: what has no parameters gives the figures that a loop
// over all events gives, and the network over features of pairs trains.
#include "cli/imported_graph.h"
#include "cli/shipped_config.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>

using namespace sluice::test;
using nlohmann::json;

namespace {

double figure_of(const json& report, const char* name) {
  return report.at("metrics").at(name).get<double>();
}

}  // namespace

TEST_CASE("EdgeBank and recency on UCI are what loops over its messages give") {
  const TempDir dir;
  const auto dataset = import_graph(dir, "uci-graph.toml", "uci");
  if (!dataset) return;
  const json edgebank = run_config("uci-edgebank.toml", *dataset, dir, {});
  CHECK(std::abs(figure_of(edgebank, "test.ap") - 0.766) < 0.003);
  CHECK(edgebank.at("metrics").contains("test.ap.historical"));
  CHECK(edgebank.at("metrics").contains("test.auc.inductive"));
  CHECK(edgebank.at("visibility") == "batch_lag");
  const json recency = run_config("uci-recency.toml", *dataset, dir, {});
  CHECK(std::abs(figure_of(recency, "test.ap") - 0.958) < 0.003);
  CHECK(std::abs(figure_of(recency, "test.auc") - 0.945) < 0.003);
  CHECK(recency.at("visibility") == "strict");
}

TEST_CASE("EdgeBank and recency on Wikipedia are what loops over its edits give") {
  const TempDir dir;
  const auto dataset = import_graph(dir, "wikipedia-graph.toml", "wikipedia");
  if (!dataset) return;
  const json ever = run_config("wikipedia-edgebank.toml", *dataset, dir, {});
  CHECK(std::abs(figure_of(ever, "test.mrr") - 0.4947) < 0.001);
  CHECK(std::abs(figure_of(ever, "valid.mrr") - 0.5267) < 0.001);
  const json window = run_config("wikipedia-edgebank.toml",
                                 *dataset,
                                 dir,
                                 {"--overwrite", "--set", "model.window_share=0.15"});
  CHECK(std::abs(figure_of(window, "test.mrr") - 0.571) < 0.001);
  CHECK(std::abs(figure_of(window, "valid.mrr") - 0.5997) < 0.001);
  const json recency = run_config("wikipedia-recency.toml", *dataset, dir, {});
  CHECK(std::abs(figure_of(recency, "test.mrr") - 0.8206) < 0.001);
  CHECK(std::abs(figure_of(recency, "valid.mrr") - 0.8415) < 0.001);
}

TEST_CASE("a table of dated events becomes a config of events by guesses alone") {
  const TempDir dir;
  std::string events = "who,what,when\n";
  for (int i = 0; i < 600; ++i)
    events += fmt::format("u{},p{},2024-{:02}-{:02}T10:{:02}:00Z\n",
                          i % 23,
                          i * 7 % 11,
                          1 + i / 60,
                          1 + i % 28,
                          i % 60);
  std::filesystem::create_directory(dir / "raw");
  dir.write("raw/events.csv", events);
  const std::string prep = tool("sluice-prep"), data = dir / "data";
  const Outcome described = run({prep, "import", dir / "raw"});
  REQUIRE(described.code == 0);
  CHECK(described.out.find("time_column = \"when\"\ntime_unit = \"s\"\n") != std::string::npos);
  REQUIRE(run({prep, "import", "--config", dir.write("graph.toml", described.out), "--out", data})
              .code == 0);
  const Outcome init = train({"config", "init", data});
  REQUIRE_MESSAGE(init.code == 0, init.err);
  CHECK(init.out.find("420 training events") != std::string::npos);
  const Outcome ran = train({"run",
                             dir.write("made.toml", init.out),
                             "--quiet",
                             "--set",
                             "train.epochs=1",
                             "--set",
                             "memory.host=512MiB",
                             "--set",
                             "run.dir=" + (dir / "run").string()});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("test.ap ") != std::string::npos);
}

TEST_CASE("the network over features of pairs trains on Wikipedia") {
  const TempDir dir;
  const auto dataset = import_graph(dir, "wikipedia-graph.toml", "wikipedia");
  if (!dataset) return;
  const json report = run_config("wikipedia-pairs.toml",
                                 *dataset,
                                 dir,
                                 {
                                     "--set",
                                     "train.epochs=1",
                                     "--set",
                                     "task.negatives=20",
                                     "--set",
                                     "task.ranked=100",
                                     "--set",
                                     "task.split_by=ratio",
                                     "--set",
                                     "task.edge_split=[0.94, 0.03, 0.03]",
                                 });
  CHECK(figure_of(report, "valid.mrr") > 0.5);
}
