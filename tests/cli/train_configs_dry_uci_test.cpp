// Configs of UCI's events that no other test trains by: a dry run says that they fit their dataset
// and their budgets.
#include "cli/dry_run.h"

#include <doctest/doctest.h>

using namespace sluice::test;

TEST_CASE("models of events on UCI fit in the budgets of their configs") {
  check_dry_runs("uci-graph.toml",
                 "uci",
                 {"uci-tftgn.toml",
                  "uci-graphmixer.toml",
                  "uci-jodie.toml",
                  "uci-tgn.toml",
                  "uci-tgat.toml",
                  "uci-tpnet.toml",
                  "uci-dygformer.toml"});
}
