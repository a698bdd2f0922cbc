// Configs of Wikipedia's and of generated events that no other test trains by: a dry run says that
// they fit their datasets and their budgets.
#include "cli/dry_run.h"

#include <doctest/doctest.h>

using namespace sluice::test;

TEST_CASE("models of events on Wikipedia fit in the budgets of their configs") {
  check_dry_runs(
      "wikipedia-graph.toml", "wikipedia", {"wikipedia-tftgn.toml", "wikipedia-tpnet.toml"});
}

TEST_CASE("labels of a generated graph that drifts fit in the budget of their config") {
  const TempDir dir;
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "temporal",
                            "--nodes",
                            "2000",
                            "--events",
                            "200000",
                            "--repeat",
                            "0.3",
                            "--homophily",
                            "0.9",
                            "--drift",
                            "10",
                            "--features",
                            "0",
                            "--classes",
                            "8",
                            "--edge-features",
                            "16",
                            "--label-events",
                            "20000",
                            "--out",
                            dir / "data"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  check_dry_run("generated-dynamic.toml", dir / "data", dir);
}
