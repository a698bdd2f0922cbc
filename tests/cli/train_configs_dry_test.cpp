// Configs in configs/ that no other test trains by: a dry run says that they fit their datasets and
// their budgets.
#include "cli/imported_graph.h"
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

void check_dry_run(const std::string& config,
                   const std::filesystem::path& dataset,
                   const TempDir& dir) {
  CAPTURE(config);
  const Outcome outcome = train({"run",
                                 (source_folder() / "configs" / config).string(),
                                 "--dry-run",
                                 "--json",
                                 "--set",
                                 "dataset.path=" + dataset.string(),
                                 "--set",
                                 "run.dir=" + (dir / "run").string()});
  if (outcome.code == 4 && outcome.err.find("this process may use") != std::string::npos) {
    MESSAGE("skipped: " << config << " asks for more memory than this machine grants");
    return;
  }
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  if (outcome.code == 0) CHECK(json::parse(outcome.out).contains("estimate"));
}

// All over one dataset; nothing where its files are not there.
void check_dry_runs(const std::string& graph,
                    const std::string& folder,
                    const std::vector<std::string>& configs) {
  const TempDir dir;
  const auto dataset = import_graph(dir, graph, folder);
  if (!dataset) return;
  for (const std::string& config : configs) check_dry_run(config, *dataset, dir);
}

}  // namespace

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

TEST_CASE("models of events on Wikipedia fit in the budgets of their configs") {
  check_dry_runs(
      "wikipedia-graph.toml", "wikipedia", {"wikipedia-tftgn.toml", "wikipedia-tpnet.toml"});
}

// Simple-HGN is left out: its step is tried for half a minute.
TEST_CASE("models of several types on HGB's IMDB fit in the budgets of their configs") {
  check_dry_runs("hgb-imdb-graph.toml", "hgb_imdb", {"hgb-imdb-hgt.toml", "hgb-imdb-rgcn.toml"});
}

TEST_CASE("R-GCN on HeCo's Freebase fits in the budget of its config") {
  check_dry_runs("heco-freebase-graph.toml", "heco_freebase", {"heco-freebase-rgcn.toml"});
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
