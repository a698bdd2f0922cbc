// Edges by relation in memory or on disk, by the command line: the same bits as from memory, and
// table, estimate and report say which relations are where.
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

constexpr const char* kCites = "paper__cites__paper";
constexpr const char* kWrites = "author__writes__paper";

// 16 MiB of citations, and few other edges.
class Papers {
 public:
  Papers() {
    const Outcome outcome = run({tool("sluice-prep"),
                                 "generate",
                                 "hetero",
                                 "--out",
                                 (dir_ / "data").string(),
                                 "--papers",
                                 "20000",
                                 "--authors",
                                 "1000",
                                 "--institutions",
                                 "20",
                                 "--cites",
                                 "4200000",
                                 "--writes",
                                 "4000",
                                 "--works-at",
                                 "1000",
                                 "--features",
                                 "8",
                                 "--author-features",
                                 "8",
                                 "--classes",
                                 "4",
                                 "--train",
                                 "0.05",
                                 "--valid",
                                 "0.01",
                                 "--test",
                                 "0.01"});
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    dir_.write("run.toml",
               "dataset.path = \"" + (dir_ / "data").string() + "\"\nrun.dir = \"" +
                   (dir_ / "run").string() +
                   "\"\nsampler.fanout = [5, 5]\neval = { fanout = [5, 5], batch_size = 64 }\n"
                   "model = { type = \"rgcn\", hidden = 16, bases = 2 }\n"
                   "task = { type = \"node_classification\", node_type = \"paper\" }\n"
                   "[train]\nepochs = 2\nbatch_size = 64\ncompute_threads = 1\n");
  }

  Outcome train_with(const std::vector<std::string>& sets,
                     const std::vector<std::string>& more = {"--json", "--overwrite"}) {
    std::vector<std::string> all{"run", (dir_ / "run.toml").string()};
    for (const std::string& set : sets) all.insert(all.end(), {"--set", set});
    all.insert(all.end(), more.begin(), more.end());
    return train(all);
  }
  json report_of(const std::vector<std::string>& sets) {
    const Outcome outcome = train_with(sets);
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return json::parse(outcome.out);
  }

 private:
  TempDir dir_;
};

}  // namespace

TEST_CASE("a budget that holds one relation and not the other: the same bits, and told") {
  Papers papers;
  const json memory = papers.report_of({"memory.host=256MiB", "storage.topology=memory"});
  CHECK(memory.at("storage").at("topology") == "memory");
  CHECK(!memory.at("storage").contains("relations"));

  const json mixed = papers.report_of({"memory.host=30MiB"});
  CHECK(mixed.at("storage").at("topology") == "mixed");
  CHECK(mixed.at("storage").at("relations").at(kCites) == "disk");
  CHECK(mixed.at("storage").at("relations").at(kWrites) == "memory");
  CHECK(results(mixed) == results(memory));
  CHECK(mixed.at("bytes").at("read") > memory.at("bytes").at("read"));

  const Outcome dry = papers.train_with({"memory.host=30MiB"}, {"--dry-run"});
  REQUIRE_MESSAGE(dry.code == 0, dry.err);
  CHECK(dry.out.find("# edges in memory and on disk: ") != std::string::npos);
  CHECK(dry.out.find(std::string("loaded, in memory: ") + kWrites) != std::string::npos);
  CHECK(dry.out.find(std::string("on disk: ") + kCites) != std::string::npos);
}

TEST_CASE("relations that a config names are in memory beside others on disk") {
  Papers papers;
  const json memory = papers.report_of({"memory.host=256MiB", "storage.topology=memory"});
  const std::vector<std::string> named{"storage.topology=disk",
                                       "storage.topology_in_memory=[\"cites\"]"};
  std::vector<std::string> sets = named;
  sets.push_back("memory.host=256MiB");
  const json mixed = papers.report_of(sets);
  CHECK(mixed.at("storage").at("topology") == "mixed");
  CHECK(mixed.at("storage").at("relations").at(kCites) == "memory");
  CHECK(mixed.at("storage").at("relations").at(kWrites) == "disk");
  CHECK(results(mixed) == results(memory));

  // A refusal says what it is about.
  sets = named;
  sets.push_back("memory.host=8MiB");
  const Outcome refused = papers.train_with(sets);
  CHECK(refused.code == 4);
  CHECK(refused.err.find(std::string("loaded, in memory: ") + kCites + "; on disk: ") !=
        std::string::npos);

  const Outcome unknown =
      papers.train_with({"memory.host=256MiB", "storage.topology_in_memory=[\"reads\"]"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("'reads', which is no relation") != std::string::npos);
}
