// Cora's configs of node classification in configs/ run, for a few epochs.
#include "cli/shipped_config.h"

#include <doctest/doctest.h>

using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

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

TEST_CASE("Cora's config of propagated features trains") {
  const TempDir dir;
  const fs::path dataset = dir / "cora";
  if (!import_cora(dataset)) return;
  const Outcome outcome = run({tool("sluice-prep"),
                               "propagate",
                               dataset.string(),
                               "--method",
                               "sign",
                               "--hops",
                               "3",
                               "--memory",
                               "256MiB"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  const json report = run_config("cora-sign.toml", dataset, dir, {"--set", "train.epochs=100"});
  // More than words alone tell.
  CHECK(report.at("metrics").at("test.accuracy") > 0.65);
}

TEST_CASE("SGC is that config without layers, over the table of its hops") {
  const TempDir dir;
  const fs::path dataset = dir / "cora";
  if (!import_cora(dataset)) return;
  const Outcome outcome = run({tool("sluice-prep"),
                               "propagate",
                               dataset.string(),
                               "--method",
                               "sgc",
                               "--memory",
                               "256MiB"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  const json report = run_config(
      "cora-sign.toml",
      dataset,
      dir,
      {"--set", "train.epochs=100", "--set", "model.layers=0", "--set", "model.tables=[\"sgc\"]"});
  CHECK(report.at("metrics").at("test.accuracy") > 0.6);
}

TEST_CASE("Cora's configs without labels train, and tell more than chance") {
  const TempDir dir;
  const fs::path dataset = dir / "cora";
  if (!import_cora(dataset)) return;
  for (const char* name : {"cora-gcmae.toml",
                           "cora-graphmae.toml",
                           "cora-graphmae2.toml",
                           "cora-dgi.toml",
                           "cora-bgrl.toml"}) {
    CAPTURE(name);
    const json report = run_config(name,
                                   dataset,
                                   dir,
                                   {"--set",
                                    "train.epochs=4",
                                    "--set",
                                    "eval.every=4",
                                    "--set",
                                    "task.width=64",
                                    "--set",
                                    "model.hidden=64"});
    // Seven topics, the largest of them three papers in ten.
    CHECK(report.at("metrics").at("test.accuracy") > 0.4);
    CHECK(report.at("metrics").at("test.nmi") > 0.05);
  }
}
