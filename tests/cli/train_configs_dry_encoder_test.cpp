// The configs of learned rows behind an encoder, and of Amazon: a dry run says that they fit their
// datasets.
#include "cli/dry_run.h"

#include <doctest/doctest.h>

using namespace sluice::test;

TEST_CASE("the configs of links behind an encoder fit their datasets") {
  check_dry_runs("wn18rr-rgcn-graph.toml", "wn18rr", {"wn18rr-rgcn.toml"});
  check_dry_runs(
      "amazon-typed-graph.toml", "amazon", {"amazon-distmult.toml", "amazon-graphsage.toml"});
}
