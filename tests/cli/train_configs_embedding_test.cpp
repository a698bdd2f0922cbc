// The configs of embeddings in configs/: those of tiny graphs train (of the others
// train_configs_dry_embedding_test.cpp and train_configs_dry_encoder_test.cpp).
#include "cli/imported_graph.h"
#include "cli/shipped_config.h"

#include <doctest/doctest.h>

#include <tuple>

using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("the configs of tiny knowledge graphs train") {
  const TempDir dir;
  const std::tuple<const char*, double, const char*> graphs[] = {{"umls", 0.75, "affects"},
                                                                 {"kinship", 0.6, "term1"}};
  for (const auto& [name, least, relation] : graphs) {
    const std::string graph = name;
    CAPTURE(graph);
    const auto dataset = import_graph(dir, graph + "-graph.toml", graph);
    if (!dataset) return;
    const json report = run_config(graph + "-complex.toml",
                                   *dataset,
                                   dir,
                                   {"--set", "train.epochs=15", "--set", "eval.every=15"});
    CHECK(report.at("metrics").at("test.mrr") > least);
    CHECK(report.at("metrics").at("test.hits@10") > least);
    CHECK(report.at("metrics").contains(std::string("test.mrr:") + relation));
  }
}

TEST_CASE("R-GCN with DistMult learns tiny knowledge graphs in both directions") {
  const TempDir dir;
  for (const auto& [name, entities] : {std::pair{"umls", 135}, std::pair{"kinship", 104}}) {
    CAPTURE(name);
    const std::string folder = name;
    const fs::path graph = dir.write(
        folder + ".toml",
        "[[nodes]]\ntype = \"entity\"\ncount = " + std::to_string(entities) +
            "\n[[edges]]\nfile = \"train.txt\"\nformat = \"triples\"\nrelation = \"triple\"\n"
            "reverse = \"inverse\"\ntype_column = \"relation\"\ntypes = \"labels\"\n"
            "source_column = \"head\"\ntarget_column = \"tail\"\n[[splits]]\nof = \"edges\"\n"
            "valid = \"valid.txt\"\ntest = \"test.txt\"\nformat = \"triples\"\n");
    const auto dataset = import_by(dir, graph, folder);
    if (!dataset) return;
    const json report = run_config("wn18rr-rgcn.toml",
                                   *dataset,
                                   dir,
                                   {"--overwrite",
                                    "--set",
                                    "train.epochs=15",
                                    "--set",
                                    "train.batch_size=256",
                                    "--set",
                                    "task.negatives=64",
                                    "--set",
                                    "task.eval_negatives=50",
                                    "--set",
                                    "task.ranking=sampled"});
    CHECK(report.at("metrics").at("test.auc") > 0.75);
    // As the config has it: the rank among all, where chance gives about .05.
    const Outcome ranked = train(
        {"evaluate", report.at("run").get<std::string>(), "--json", "--set", "task.ranking=all"});
    REQUIRE_MESSAGE(ranked.code == 0, ranked.err);
    CHECK(json::parse(ranked.out).at("metrics").at("test.mrr") > 0.1);
  }
}
