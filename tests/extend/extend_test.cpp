// What is added from outside is all there: in the config, from memory as from disk, and learned.
#include "cli/train_support.h"

#include <doctest/doctest.h>

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

json trained_with(const Sandbox& box, const std::vector<std::string>& settings) {
  std::vector<std::string> arguments{
      "run", (box.folder() / "short.toml").string(), "--json", "--overwrite"};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  const Outcome outcome = extended(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
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
}
