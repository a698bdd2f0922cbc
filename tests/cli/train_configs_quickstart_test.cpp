// README's config in configs/ runs.
#include "cli/shipped_config.h"

#include <doctest/doctest.h>

using namespace sluice::test;
using nlohmann::json;

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
