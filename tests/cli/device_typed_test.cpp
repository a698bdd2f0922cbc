// Models over several node types on a device, through the fake device library: the CPU's
// mini-batches, weights and metrics bit for bit.
#include "cli/fake_library.h"
#include "cli/typed_sandbox.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

// A run on the fake device gives what was expected; `seed` orders its work.
json check_typed_on_device(const TypedSandbox& box,
                           const std::vector<std::string>& sets,
                           int seed,
                           const json& expected) {
  CAPTURE(seed);
  const Environment order("SLUICE_FAKE_SEED", std::to_string(seed));
  const json got = box.report(with_sets(sets, {"train.device=cuda"}));
  CHECK(results(got) == results(expected));
  const json& device = got.at("device");
  CHECK(device.at("kind") == "fake");
  CHECK(device.at("in_flight") > 0);
  CHECK(device.at("transferred") > 0);
  return got;
}

json typed_on_cpu(const TypedSandbox& box, const std::vector<std::string>& sets) {
  return box.report(with_sets(sets, {"train.device=cpu"}));
}

const std::vector<std::string> kAllInMemory{
    "storage.features=memory", "storage.topology=memory", "storage.embeddings=memory"};
const std::vector<std::string> kAllOnDisk{
    "storage.features=disk", "storage.topology=disk", "storage.embeddings=disk"};

}  // namespace

TEST_CASE("device: models over several types and their learned rows give the CPU's results") {
  const TypedSandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  int seed = 60;
  for (const std::vector<std::string>& model :
       {std::vector<std::string>{"model.type=rgcn", "model.bases=2"},
        {"model.type=graphsage"},
        {"model.type=hgt"},
        {"model.type=simple_hgn", "model.input_width=16", "model.relation_width=8"},
        {"model.type=bg_hgnn", "model.code_width=32"}}) {
    CAPTURE(model.front());
    const std::vector<std::string> sets = with_venue_rows(model);
    const json expected = typed_on_cpu(box, sets);
    const bool on_disk = seed++ % 2 == 0;
    const json got = check_typed_on_device(
        box, with_sets(sets, on_disk ? kAllOnDisk : kAllInMemory), seed, expected);
    // Rows in memory are lent to the device.
    CHECK(got.at("device").contains("learned_rows") != on_disk);
  }
}

TEST_CASE("device: relation first gives the CPU's results, whose features come when asked for") {
  const TypedSandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  int seed = 70;
  for (const char* model : {"model.type=rgcn", "model.type=graphsage"}) {
    CAPTURE(model);
    const std::vector<std::string> sets =
        with_venue_rows({model, "model.execution=relation_first"});
    const json expected = typed_on_cpu(box, sets);
    CHECK(expected.at("execution").at("order") == "relation_first");
    for (const std::vector<std::string>& places : {kAllInMemory, kAllOnDisk}) {
      CAPTURE(places.front());
      const json got = check_typed_on_device(box, with_sets(sets, places), ++seed, expected);
      CHECK(got.at("execution").at("order") == "relation_first");
      CHECK(got.at("execution").at("groups") == expected.at("execution").at("groups"));
    }
  }
}

TEST_CASE("device: models over propagated tables give the CPU's results") {
  const TypedSandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  for (const std::vector<std::string>& method :
       {std::vector<std::string>{"sgc", "--hops", "2"},
        {"sign", "--hops", "2"},
        {"metapaths", "--hops", "1"},
        {"labels", "--hops", "2"},
        {"random_projection", "--hops", "2", "--columns", "8"}})
    box.propagate(method);
  int seed = 80;
  for (const std::vector<std::string>& model :
       {std::vector<std::string>{"model.type=sign", "model.tables=[\"features\", \"sign-*\"]"},
        {"model.type=sign", "model.layers=0", "model.tables=[\"sgc\"]"},
        {"model.type=sehgnn",
         "model.tables=[\"features\", \"metapaths-*\"]",
         "model.label_tables=[\"labels-*\"]"},
        {"model.type=rphgnn", "model.tables=[\"projected-*\", \"labels-*\"]"}}) {
    CAPTURE(model.front());
    CAPTURE(model.back());
    const json expected = typed_on_cpu(box, model);
    const char* features = seed % 2 == 0 ? "storage.features=memory" : "storage.features=disk";
    (void)check_typed_on_device(box, with_sets(model, {features}), ++seed, expected);
  }
}
