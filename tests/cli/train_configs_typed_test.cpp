// The configs of models over several node types in configs/: on ACM two train for a little, of the
// others a dry run says that they fit.
#include "cli/imported_graph.h"
#include "cli/shipped_config.h"

#include <doctest/doctest.h>

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
  for (const std::string config : {"acm-hgt.toml", "acm-simplehgn.toml", "acm-bghgnn.toml"}) {
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
