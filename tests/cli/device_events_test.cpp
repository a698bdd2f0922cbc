// Models of events on the fake device: every model, of nodes, of pairs and with rows of state,
// gives the CPU's mini-batches, weights and metrics bit for bit, with all that may lie on disk
// there.
#include "cli/fake_library.h"
#include "cli/train_support.h"
#include "support/timed_events.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

struct EventsOnDevice {
  const char* table;
  std::vector<std::string> sets = {};
};

// A table of each, small.
std::vector<EventsOnDevice> every_model_of_events() {
  std::vector<EventsOnDevice> all{
      {"type = \"tf_tgn\", hidden = 12, feed_forward = 24"},
      {"type = \"tf_tgn\", hidden = 12, feed_forward = 24, pairs = \"co_occurrence\""},
      {"type = \"tgat\", hidden = 12", {"sampler.count=[4, 3]"}},
      {"type = \"graphmixer\", hidden = 12, events = 4"},
      {"type = \"dygformer\", channel = 8, events = 4"},
      {"type = \"pair_network\", hidden = 12"},
      {"type = \"edgebank\"", {"train.epochs=0"}},
      {"type = \"recency\"", {"train.epochs=0"}},
      {"type = \"popularity\"", {"train.epochs=0"}}};
  for (const char* table : kMemoryModelTables) all.push_back({table});
  return all;
}

json run_of_events(const std::filesystem::path& config, const std::vector<std::string>& sets) {
  std::vector<std::string> words{"run", config.string(), "--json", "--overwrite"};
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  const Outcome outcome = train(words);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

// On the CPU from memory, and on the fake device from disk.
void check_on_device(const std::filesystem::path& config, std::vector<std::string> sets, int seed) {
  sets.emplace_back("train.device=cpu");
  const json expected = run_of_events(config, sets);
  CHECK(expected.at("device") == json{{"kind", "cpu"}});
  sets.back() = "train.device=cuda";
  sets.insert(sets.end(),
              {"storage.features=disk",
               "storage.topology=disk",
               "storage.embeddings=disk",
               "train.data_threads=2"});
  const Environment order("SLUICE_FAKE_SEED", std::to_string(seed));
  const json got = run_of_events(config, sets);
  CHECK(results(got) == results(expected));
  CHECK(got.at("device").at("kind") == "fake");
  if (got.at("epochs") > 0) CHECK(got.at("device").at("transferred") > 0);
  CHECK(got.at("storage").at("topology") == "disk");
}

}  // namespace

TEST_CASE("device: models of events give the CPU's results, from disk as from memory") {
  const TimedEvents events;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  int seed = 0;
  for (const EventsOnDevice& model : every_model_of_events()) {
    CAPTURE(model.table);
    const auto config = events.folder() / "run.toml";
    std::ofstream(config) << events.config(model.table);
    std::vector<std::string> sets{
        "train.epochs=2", "task.ranked=5", "task.eval_negatives=[\"random\", \"historical\"]"};
    sets.insert(sets.end(), model.sets.begin(), model.sets.end());
    check_on_device(config, sets, ++seed);
  }
}

TEST_CASE("device: events are predicted there with the CPU's bits") {
  const TimedEvents events;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const auto config = events.folder() / "run.toml";
  std::ofstream(config) << events.config(kMemoryModelTables[0]);
  std::string predictions[2];
  for (const int on_device : {0, 1}) {
    const std::string device = on_device == 1 ? "train.device=cuda" : "train.device=cpu";
    (void)run_of_events(config, {"train.epochs=1", device});
    const std::string out = (events.folder() / (std::to_string(on_device) + ".csv")).string();
    const Outcome predicted =
        train({"predict", events.run_dir().string(), "--out", out, "--set", device});
    REQUIRE_MESSAGE(predicted.code == 0, predicted.err);
    predictions[on_device] = read_all(out);
  }
  CHECK(predictions[0] == predictions[1]);
  CHECK(predictions[0].starts_with("source,target,probability\n"));
}

TEST_CASE("device: classes of nodes at times are the CPU's") {
  const TempDir dir;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const std::string data = (dir / "data").string();
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "temporal",
                            "--out",
                            data,
                            "--nodes",
                            "100",
                            "--events",
                            "3000",
                            "--drift",
                            "4",
                            "--features",
                            "0",
                            "--classes",
                            "8",
                            "--edge-features",
                            "4",
                            "--label-events",
                            "600"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto config = dir.write(
      "run.toml",
      fmt::format("dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"256MiB\"\n"
                  "model = {{ type = \"graphmixer\", hidden = 16, time_width = 16, events = 10 }}\n"
                  "[sampler]\ntype = \"temporal\"\ncount = [10]\n"
                  "[task]\ntype = \"dynamic_node_classification\"\nwidth = 16\nhidden = 16\n"
                  "[train]\nepochs = 2\nbatch_size = 100\ncompute_threads = 1\n"
                  "[eval]\nbatch_size = 100\n",
                  data,
                  (dir / "run").string()));
  check_on_device(config, {}, 1);
}
