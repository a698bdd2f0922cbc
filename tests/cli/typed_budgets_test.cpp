// Three tables and six relations on disk, each table repacked: a run ends with the bits of one in
// memory in every budget from the least one on, where nothing is left over, to one in which edges
// fit while an epoch is sampled.
#include "cli/train_support.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

class Kinds {
 public:
  Kinds() {
    const Outcome made = run({tool("sluice-prep"),
                              "generate",
                              "hetero",
                              "--out",
                              data().string(),
                              "--relations",
                              "6",
                              "--kinds",
                              "2",
                              "--items",
                              "30000",
                              "--sources",
                              "30000",
                              "--edges",
                              "600000",
                              "--widths",
                              "64,256",
                              "--dtypes",
                              "f32,f16",
                              "--features",
                              "128",
                              "--train",
                              "0.1",
                              "--valid",
                              "0.002",
                              "--test",
                              "0.002"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
    config_ =
        dir_.write("run.toml",
                   fmt::format("dataset.path = \"{}\"\nrun.dir = \"{}\"\nsampler.fanout = [5, 5]\n"
                               "model = {{ type = \"graphsage\", hidden = 64 }}\n"
                               "task = {{ type = \"node_classification\", node_type = \"item\" }}\n"
                               "[train]\nepochs = 2\nbatch_size = 64\ncompute_threads = 1\n"
                               "checkpoint_every = 0\n[eval]\nbatch_size = 64\n",
                               data().string(),
                               (dir_ / "run").string()));
  }

  Outcome trained(std::uint64_t mib, const std::string& place, bool dry = false) const {
    std::vector<std::string> words{"run", config_.string(), "--json", "--overwrite"};
    for (const std::string& set : {fmt::format("memory.host={}MiB", mib),
                                   "storage.features=" + place,
                                   "storage.topology=" + place,
                                   std::string("storage.plan=repack")})
      words.insert(words.end(), {"--set", set});
    if (dry) words.emplace_back("--dry-run");
    return train(words);
  }

  /// By what a refusal says, MiB.
  std::uint64_t least() const {
    const Outcome refused = trained(4, "disk", true);
    CHECK(refused.code != 0);
    const std::string said = "set [memory] host to at least \"";
    const std::size_t at = refused.err.find(said);
    REQUIRE_MESSAGE(at != std::string::npos, refused.err);
    return std::stoull(refused.err.substr(at + said.size()));
  }

 private:
  std::filesystem::path data() const { return dir_ / "data"; }

  TempDir dir_;
  std::filesystem::path config_;
};

}  // namespace

TEST_CASE("three repacked tables end within every budget from the least one on") {
  const Kinds kinds;
  const Outcome reference = kinds.trained(1024, "memory");
  REQUIRE_MESSAGE(reference.code == 0, reference.err);
  const json expected = json::parse(reference.out).at("weights_xxh3");
  const std::uint64_t least = kinds.least();
  for (const std::uint64_t more : {0u, 1u, 2u, 4u, 7u, 12u, 20u, 40u}) {
    CAPTURE(least);
    CAPTURE(more);
    const Outcome outcome = kinds.trained(least + more, "disk");
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const json report = json::parse(outcome.out);
    CHECK(report.at("weights_xxh3") == expected);
    CHECK(report.at("storage").at("features") == "disk");
    CHECK(report.at("storage").at("topology") == "disk");
  }
}
