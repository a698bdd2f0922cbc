// Task self_supervised in mini-batches: from disk as from memory, and after SIGKILL in the middle
// of an epoch, the same bits.
#include "cli/killed_run.h"
#include "cli/labelless_methods.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

std::vector<std::string> labelless_run(const Sandbox& box,
                                       const LabellessMethod& method,
                                       const std::vector<std::string>& more) {
  std::vector<std::string> command = box.command({"--json", "--overwrite"});
  const std::vector<std::string> short_probe{"task.floors=none", "task.probe.epochs=50"};
  for (const std::string& set : with_sets(with_sets(method.sets, short_probe), more))
    command.insert(command.end(), {"--set", set});
  return command;
}

// What it is in memory, from disk, and killed there.
void check_labelless(std::size_t number) {
  const Sandbox box;
  const LabellessMethod method = labelless_methods().at(number);
  CAPTURE(method.name);
  const Outcome reference = run(labelless_run(
      box, method, {"storage.features=memory", "storage.topology=memory", "train.data_threads=1"}));
  REQUIRE_MESSAGE(reference.code == 0, reference.err);
  const json expected = results(json::parse(reference.out));
  REQUIRE(expected.at(2).at("test.accuracy").is_number());
  const std::string lines = box.metrics();
  const auto check = [&](const Outcome& outcome) {
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const json report = json::parse(outcome.out);
    CHECK(report.at("storage").at("features") == "disk");
    CHECK(report.at("storage").at("topology") == "disk");
    CHECK(results(report) == expected);
    CHECK(box.metrics() == lines);
  };
  const std::vector<std::string> disk{"storage.features=disk", "storage.topology=disk"};
  check(run(labelless_run(box, method, with_sets(disk, {"train.data_threads=4"}))));
  run_killed(
      labelless_run(box, method, with_sets(disk, {"train.data_threads=2"})), box.dir(), check);
}

}  // namespace

TEST_CASE("without labels, disk equals memory and kills change no bit: GraphMAE") {
  check_labelless(0);
}
TEST_CASE("without labels, disk equals memory and kills change no bit: GCMAE") {
  check_labelless(1);
}
TEST_CASE("without labels, disk equals memory and kills change no bit: GraphMAE2") {
  check_labelless(2);
}
TEST_CASE("without labels, disk equals memory and kills change no bit: DGI") {
  check_labelless(3);
}
TEST_CASE("without labels, disk equals memory and kills change no bit: BGRL") {
  check_labelless(4);
}
