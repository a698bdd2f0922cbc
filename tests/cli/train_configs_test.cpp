// Every config in configs/ runs, for a few epochs.
#include "cli/cora_dataset.h"
#include "cli/train_support.h"

#include <doctest/doctest.h>

using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

json run_config(const std::string& name,
                const fs::path& dataset,
                const TempDir& dir,
                const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"run",
                                     (source_folder() / "configs" / name).string(),
                                     "--json",
                                     "--set",
                                     "dataset.path=" + dataset.string(),
                                     "--set",
                                     "run.dir=" + (dir / ("run-" + name)).string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = train(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE("the Cora configs train") {
  const TempDir dir;
  const fs::path dataset = dir / "cora";
  if (!import_cora(dataset)) return;
  for (const char* name : {"cora-gcn.toml", "cora-graphsage.toml", "cora-gat.toml"}) {
    CAPTURE(name);
    const json report = run_config(name, dataset, dir, {"--set", "train.epochs=30"});
    CHECK(report.at("metrics").at("test.accuracy") > 0.7);
  }
}

TEST_CASE("the Cora config of links tells links from others, whose ids are the user's") {
  const TempDir dir;
  const fs::path dataset = dir / "cora";
  if (!import_cora(dataset)) return;
  const json report = run_config("cora-link.toml", dataset, dir, {"--set", "train.epochs=8"});
  CHECK(report.at("metrics").at("test.auc") > 0.85);
  CHECK(report.at("metrics").at("test.ap") > 0.85);
  CHECK(report.at("metrics").contains("test.hits@10"));
  const Outcome predicted = train({"predict",
                                   (dir / "run-cora-link.toml").string(),
                                   "--part",
                                   "test",
                                   "--out",
                                   (dir / "links.csv").string()});
  REQUIRE_MESSAGE(predicted.code == 0, predicted.err);
  CHECK(read_all(dir / "links.csv").starts_with("source,target,probability\n"));
}

TEST_CASE("the quickstart config trains from disk") {
  const TempDir dir;
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "sbm",
                            "--nodes",
                            "20000",
                            "--edges",
                            "200000",
                            "--features",
                            "128",
                            "--train",
                            "0.5",
                            "--out",
                            dir / "x"});
  REQUIRE(made.code == 0);
  const json report =
      run_config("quickstart.toml", dir / "x", dir, {"--set", "train.batch_size=128"});
  CHECK(report.at("storage").at("features") == "disk");
  CHECK(report.at("bytes").at("read") > 0);
  CHECK(report.at("metrics").at("test.accuracy") > 0.7);
  CHECK(report.at("memory").at("ledger_peak") <= report.at("memory").at("budget"));
}
