// Task self_supervised on a device, through the fake device library: the CPU's mini-batches,
// weights, probes and embeddings bit for bit.
#include "cli/fake_library.h"
#include "cli/labelless_methods.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

json labelless_report(const Sandbox& box, const std::vector<std::string>& sets) {
  std::vector<std::string> arguments{"--json", "--overwrite", "--set", "train.epochs=1"};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  const Outcome outcome = box.run(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE("device: each method of learning without labels gives the CPU's results") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  int seed = 90;
  for (const LabellessMethod& method : labelless_methods()) {
    CAPTURE(method.name);
    const std::vector<std::string> sets =
        with_sets(method.sets, {"task.floors=none", "task.probe.epochs=50"});
    const json expected = labelless_report(box, with_sets(sets, {"train.device=cpu"}));
    CHECK(expected.at("metrics").at("test.accuracy").is_number());
    CHECK(expected.at("metrics").at("test.nmi").is_number());
    const bool on_disk = seed++ % 2 == 0;
    CAPTURE(seed);
    const Environment order("SLUICE_FAKE_SEED", std::to_string(seed));
    const json got = labelless_report(
        box,
        with_sets(sets,
                  {"train.device=cuda",
                   on_disk ? "storage.features=disk" : "storage.features=memory",
                   on_disk ? "storage.topology=disk" : "storage.topology=memory"}));
    CHECK(got.at("device").at("kind") == "fake");
    CHECK(got.at("device").at("transferred") > 0);
    CHECK(results(got) == results(expected));
  }
}

TEST_CASE("device: embeddings without labels, their probe and its floors are the CPU's") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const std::vector<std::string> sets = labelless_methods()[1].sets;
  json reports[2], probes[2];
  std::string rows[2];
  for (const int on_device : {0, 1}) {
    CAPTURE(on_device);
    reports[on_device] = labelless_report(
        box, with_sets(sets, {on_device == 1 ? "train.device=cuda" : "train.device=cpu"}));
    const std::string out = (box.folder() / (std::to_string(on_device) + ".npy")).string();
    const Outcome embedded = train({"embed", box.dir().string(), "--out", out});
    REQUIRE_MESSAGE(embedded.code == 0, embedded.err);
    rows[on_device] = read_all(out);
    const Outcome probed = train({"probe",
                                  out,
                                  "--dataset",
                                  box.dataset().string(),
                                  "--tasks",
                                  "classify,cluster",
                                  "--json"});
    REQUIRE_MESSAGE(probed.code == 0, probed.err);
    probes[on_device] = json::parse(probed.out).at("results");
  }
  CHECK(reports[1].at("device").at("kind") == "fake");
  CHECK(results(reports[1]) == results(reports[0]));
  CHECK(reports[0].at("probe").at("floors").size() == 3);
  CHECK(reports[1].at("probe") == reports[0].at("probe"));
  CHECK(rows[0].size() > std::size_t{2000} * 16 * sizeof(float));
  CHECK(rows[1] == rows[0]);
  CHECK(probes[1] == probes[0]);
}
