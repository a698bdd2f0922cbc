// The configs of larger knowledge graphs: a dry run says that they fit their datasets.
#include "cli/dry_run.h"

#include <doctest/doctest.h>

using namespace sluice::test;

TEST_CASE("the configs of larger knowledge graphs fit their datasets") {
  check_dry_runs("wn18rr-typed-graph.toml",
                 "wn18rr",
                 {"wn18rr-complex.toml",
                  "wn18rr-complex-1000.toml",
                  "wn18rr-distmult.toml",
                  "wn18rr-rotate.toml",
                  "wn18rr-transe.toml"});
  check_dry_runs("wn18rr-rgcn-graph.toml", "wn18rr", {"wn18rr-rgcn.toml"});
  check_dry_runs(
      "amazon-typed-graph.toml", "amazon", {"amazon-distmult.toml", "amazon-graphsage.toml"});
}
