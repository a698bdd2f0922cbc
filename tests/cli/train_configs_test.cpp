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
