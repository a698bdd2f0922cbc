// The configs of embeddings in configs/: those of tiny graphs train, of the others a dry run says
// that they fit their dataset.
#include "cli/imported_graph.h"
#include "cli/shipped_config.h"

#include <doctest/doctest.h>

using namespace sluice::test;
using nlohmann::json;

TEST_CASE("the configs of tiny knowledge graphs train") {
  const TempDir dir;
  for (const auto& [name, least] : {std::pair{"umls", 0.75}, std::pair{"kinship", 0.6}}) {
    CAPTURE(name);
    const std::string graph = name;
    const auto dataset = import_graph(dir, graph + "-graph.toml", graph);
    if (!dataset) return;
    const json report = run_config(graph + "-complex.toml",
                                   *dataset,
                                   dir,
                                   {"--set", "train.epochs=15", "--set", "eval.every=15"});
    CHECK(report.at("metrics").at("test.mrr") > least);
    CHECK(report.at("metrics").at("test.hits@10") > least);
    CHECK(report.at("metrics").contains("test.mrr:1"));
  }
}

TEST_CASE("the configs of larger knowledge graphs fit their datasets") {
  const TempDir dir;
  const std::vector<std::pair<std::string, std::vector<std::string>>> all{
      {"wn18rr",
       {"wn18rr-complex.toml", "wn18rr-distmult.toml", "wn18rr-rotate.toml", "wn18rr-transe.toml"}},
      {"amazon", {"amazon-distmult.toml", "amazon-graphsage.toml"}}};
  for (const auto& [folder, configs] : all) {
    const auto dataset = import_graph(dir, folder + "-typed-graph.toml", folder);
    if (!dataset) return;
    for (const std::string& config : configs) {
      CAPTURE(config);
      const Outcome outcome = train({"run",
                                     (source_folder() / "configs" / config).string(),
                                     "--dry-run",
                                     "--set",
                                     "dataset.path=" + dataset->string(),
                                     "--set",
                                     "run.dir=" + (dir / "run").string()});
      CHECK_MESSAGE(outcome.code == 0, outcome.err);
    }
  }
}
