// What is added from outside is all there: in the config, from memory as from disk, and learned.
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;

namespace {

Outcome extended(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), tool("tests/extended-train"));
  return test::run(arguments);
}

json report_of(const Sandbox& box,
               const std::vector<std::string>& settings,
               const std::vector<std::string>& flags) {
  std::vector<std::string> arguments{"run", (box.folder() / "short.toml").string(), "--json"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  const Outcome outcome = extended(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

json trained_with(const Sandbox& box, const std::vector<std::string>& settings) {
  return report_of(box, settings, {"--overwrite"});
}

const std::string kSampler = "sampler={ type = \"every_other\", layers = 2 }";
const std::string kTask = "task={ type = \"margin_classification\", margin = 0.5 }";

}  // namespace

TEST_CASE("extended: a sampler and a task of one's own train, the same from disk") {
  const Sandbox box;
  const json plain = trained_with(box, {"train.epochs=20"});
  const json memory =
      trained_with(box, {kSampler, kTask, "train.epochs=20", "storage.features=memory"});
  const json disk = trained_with(
      box, {kSampler, kTask, "train.epochs=20", "storage.features=disk", "storage.topology=disk"});
  CHECK(memory.at("task") == "margin_classification");
  CHECK(results(memory) == results(disk));
  CHECK(memory.at("weights_xxh3") != plain.at("weights_xxh3"));
  const double accuracy = memory.at("metrics").at("test.accuracy");
  MESSAGE("test.accuracy ", accuracy);
  CHECK(accuracy > 0.7);  // a quarter by chance
}

TEST_CASE(
    "extended: config init writes a config for a task of one's own, and says where it cannot") {
  const Sandbox box;
  const Outcome init =
      extended({"config", "init", box.dataset(), "--task", "margin_classification"});
  CHECK_MESSAGE(init.code == 0, init.err);
  CHECK(init.out.find("type = \"margin_classification\"\n") != std::string::npos);
  const Outcome none = extended({"config", "init", box.dataset(), "--task", "self_supervised"});
  CHECK(none.code == 2);
  CHECK(none.err.find("docs/self-supervised.md") != std::string::npos);
}

TEST_CASE("extended: with a cache policy of one's own the weights are the same, from disk too") {
  const Sandbox box;
  generate_dataset(box.dataset(),
                   {{"--nodes", "20000"},
                    {"--edges", "100000"},
                    {"--features", "400"},
                    {"--train", "0.05"},
                    {"--valid", "0.02"},
                    {"--test", "0.02"}});
  // Evaluation by small mini-batches too: the least that works is a small part of the table then.
  const std::vector<std::string> small = {"eval.fanout=[5, 5]", "eval.batch_size=16"};
  std::vector<std::string> settings = small;
  settings.push_back("storage.features=memory");
  const json memory = trained_with(box, settings);
  settings = small;
  settings.insert(settings.end(),
                  {"storage.features=disk", "storage.plan=direct", "storage.cache=least_used"});
  const std::uint64_t least =
      report_of(box, settings, {"--dry-run"}).at("memory").at("least").get<std::uint64_t>();
  settings.push_back("memory.host=" + std::to_string(least + 400'000) + "B");
  const json disk = trained_with(box, settings);
  CHECK(results(disk) == results(memory));
  CHECK(disk.at("cache").at("misses").at("again") > 0);
}

TEST_CASE("extended: what is added has help, keys that are checked, and names that are offered") {
  const Sandbox box;
  const Outcome wrong = extended({"run",
                                  (box.folder() / "short.toml").string(),
                                  "--dry-run",
                                  "--set",
                                  "task={ type = \"margin_classification\", margn = 0.5 }"});
  CHECK(wrong.code == 2);
  CHECK((wrong.err + wrong.out).find("margin") != std::string::npos);
  const Outcome nearly = extended({"run",
                                   (box.folder() / "short.toml").string(),
                                   "--dry-run",
                                   "--set",
                                   "sampler={ type = \"every_othr\" }"});
  CHECK(nearly.code == 2);
  CHECK((nearly.err + nearly.out).find("every_other") != std::string::npos);
  const Outcome cache = extended({"run",
                                  (box.folder() / "short.toml").string(),
                                  "--dry-run",
                                  "--set",
                                  "storage.cache=least_usd"});
  CHECK(cache.code == 2);
  CHECK((cache.err + cache.out).find("did you mean \"least_used\"?") != std::string::npos);
}
