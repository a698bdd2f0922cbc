// `model.execution = "relation_first"` by the command line: the same bits from memory and from
// disk, the plain order's mini-batches, and a report of what both orders take.
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace sluice::test;
using nlohmann::json;

namespace {

void generate_papers(const std::filesystem::path& out) {
  const Outcome outcome = run({tool("sluice-prep"),
                               "generate",
                               "hetero",
                               "--out",
                               out.string(),
                               "--papers",
                               "1500",
                               "--authors",
                               "1000",
                               "--institutions",
                               "20",
                               "--cites",
                               "6000",
                               "--writes",
                               "4000",
                               "--works-at",
                               "1000",
                               "--features",
                               "24",
                               "--author-features",
                               "16",
                               "--classes",
                               "4",
                               "--train",
                               "0.4",
                               "--valid",
                               "0.1",
                               "--test",
                               "0.1"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
}

}  // namespace

TEST_CASE("relation first, from memory and from disk: the same bits, and both orders reported") {
  const TempDir dir;
  generate_papers(dir / "data");
  const auto config =
      dir.write("run.toml",
                "dataset.path = \"" + (dir / "data").string() +
                    "\"\nmemory.host = \"128MiB\"\nsampler.fanout = [5, 5]\n"
                    "model = { type = \"rgcn\", hidden = 16, bases = 2 }\n"
                    "task = { type = \"node_classification\", node_type = \"paper\" }\n"
                    "[train]\nepochs = 2\nbatch_size = 64\ncompute_threads = 1\n");
  const auto report_of = [&](const std::string& execution, const std::string& features) {
    const std::string name = execution + "-" + features;
    const Outcome outcome = train({"run",
                                   config.string(),
                                   "--json",
                                   "--set",
                                   "run.dir=" + (dir / name).string(),
                                   "--set",
                                   "model.execution=" + execution,
                                   "--set",
                                   "storage.features=" + features});
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return json::parse(outcome.out);
  };
  const json memory = report_of("relation_first", "memory");
  const json disk = report_of("relation_first", "disk");
  CHECK(results(disk) == results(memory));
  CHECK(disk.at("bytes").at("useful") == memory.at("bytes").at("useful"));

  const json plain = report_of("plain", "memory");
  CHECK(plain.at("batches_xxh3") == memory.at("batches_xxh3"));
  const double loss = memory.at("metrics").at("train.loss");
  CHECK(std::abs(plain.at("metrics").at("train.loss").get<double>() - loss) < 1e-3 * loss);

  const json& execution = memory.at("execution");
  CHECK(execution.at("order") == "relation_first");
  CHECK(execution.at("groups") == 2);  // papers, and authors; institutions lead nowhere
  CHECK(execution.at("input_bytes").at("relation_first") < execution.at("input_bytes").at("plain"));
  CHECK(execution.at("gathered_bytes").at("relation_first") >
        execution.at("gathered_bytes").at("plain"));
  CHECK(plain.at("execution").at("order") == "plain");
  CHECK(report_of("auto", "memory").at("execution").at("order") == "plain");  // little data
}
