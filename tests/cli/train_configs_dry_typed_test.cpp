// Configs of several types in configs/ that no other test trains by: a dry run says that they fit
// their datasets and their budgets.
#include "cli/dry_run.h"

#include <doctest/doctest.h>

using namespace sluice::test;

// Simple-HGN is left out: its step is tried for half a minute.
TEST_CASE("models of several types on HGB's IMDB fit in the budgets of their configs") {
  check_dry_runs("hgb-imdb-graph.toml", "hgb_imdb", {"hgb-imdb-hgt.toml", "hgb-imdb-rgcn.toml"});
}

TEST_CASE("R-GCN on HeCo's Freebase fits in the budget of its config") {
  check_dry_runs("heco-freebase-graph.toml", "heco_freebase", {"heco-freebase-rgcn.toml"});
}
