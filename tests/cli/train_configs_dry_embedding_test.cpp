// The configs of WN18RR without an encoder: a dry run says that they fit their dataset.
#include "cli/dry_run.h"

#include <doctest/doctest.h>

using namespace sluice::test;

TEST_CASE("the configs of WN18RR fit their dataset") {
  check_dry_runs("wn18rr-typed-graph.toml",
                 "wn18rr",
                 {"wn18rr-complex.toml",
                  "wn18rr-complex-1000.toml",
                  "wn18rr-distmult.toml",
                  "wn18rr-rotate.toml",
                  "wn18rr-transe.toml"});
}
