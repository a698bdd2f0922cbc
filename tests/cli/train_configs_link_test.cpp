// The config of links in configs/ runs, for a few epochs.
#include "cli/shipped_config.h"

#include <doctest/doctest.h>

using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

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
