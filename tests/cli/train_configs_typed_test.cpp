// The configs of models over several node types in configs/: on ACM two train for a little, of the
// others a dry run says that they fit.
#include "cli/dry_run.h"
#include "cli/imported_graph.h"
#include "cli/shipped_config.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

TEST_CASE("the configs of ACM fit their dataset, and models over its types learn it") {
  const TempDir dir;
  const auto dataset = import_graph(dir, "acm-graph.toml", "acm");
  if (!dataset) return;
  for (const char* config : {"acm-rgcn.toml", "acm-sage.toml"}) {
    CAPTURE(config);
    const json report =
        run_config(config, *dataset, dir, {"--set", "train.epochs=20", "--set", "eval.every=20"});
    // Three classes of about as many papers: chance is a third.
    CHECK(report.at("metrics").at("test.f1_micro") > 0.5);
    CHECK(report.at("metrics").contains("test.f1_macro"));
  }
  for (const char* config : {"acm-hgt.toml", "acm-simplehgn.toml", "acm-bghgnn.toml"})
    check_dry_run(config, *dataset, dir);
}

namespace {

void propagate_on(const std::filesystem::path& dataset, std::vector<std::string> more) {
  std::vector<std::string> command{
      tool("sluice-prep"), "propagate", dataset.string(), "--memory", "512MiB"};
  command.insert(command.end(), more.begin(), more.end());
  const Outcome outcome = run(command);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
}

}  // namespace

TEST_CASE("the config of RpHGNN fits HGB's IMDB once rounds and labels were propagated") {
  const TempDir dir;
  const auto dataset = import_graph(dir, "hgb-imdb-graph.toml", "hgb_imdb");
  if (!dataset) return;
  propagate_on(
      *dataset,
      {"--type", "movie", "--method", "random_projection", "--hops", "1", "--columns", "16"});
  propagate_on(*dataset, {"--type", "movie", "--method", "labels", "--hops", "2"});
  check_dry_run("hgb-imdb-rphgnn.toml", *dataset, dir);
}

TEST_CASE("the configs of HGB's ACM: a second stage trains on it by what a first one said") {
  const TempDir dir;
  const auto dataset = import_graph(dir, "hgb-acm-graph.toml", "hgb_acm");
  if (!dataset) return;
  for (const char* config : {"hgb-acm-rgcn.toml", "hgb-acm-hgt.toml"})
    check_dry_run(config, *dataset, dir);
  propagate_on(*dataset, {"--type", "paper", "--method", "metapaths", "--hops", "1"});
  propagate_on(*dataset, {"--type", "paper", "--method", "labels", "--hops", "2"});
  const std::vector<std::string> small{"--set", "train.epochs=20", "--set", "model.hidden=32"};
  const json before = run_config("hgb-acm-sehgnn.toml", *dataset, dir, small);
  const std::string scores = (dir / "scores.safetensors").string();
  const Outcome embedded =
      train({"embed", (dir / "run-hgb-acm-sehgnn.toml").string(), "--out", scores});
  REQUIRE_MESSAGE(embedded.code == 0, embedded.err);
  const Outcome attached = run({tool("sluice-prep"),
                                "attach",
                                dataset->string(),
                                scores,
                                "--type",
                                "paper",
                                "--name",
                                "stage-1"});
  REQUIRE_MESSAGE(attached.code == 0, attached.err);
  propagate_on(*dataset,
               {"--type",
                "paper",
                "--method",
                "labels",
                "--hops",
                "2",
                "--predictions",
                "stage-1",
                "--replace"});
  const json after = run_config("hgb-acm-sehgnn-stage.toml", *dataset, dir, small);
  // Three classes of about as many papers: chance is a third.
  CHECK(before.at("metrics").at("test.f1_micro") > 0.5);
  CHECK(after.at("metrics").at("test.f1_micro") > 0.5);
}
