// Runs of dynamic node classification over made-up events and classes that drift: a model is above
// what past labels alone say, and the same from disk as from memory.
#include "support/process.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

// 500 nodes that change their classes ten times and have ten labels; their events have features of
// the source's class, and nine in ten lead to a node of the same.
class DriftingLabels {
 public:
  DriftingLabels() {
    const Outcome made = run({tool("sluice-prep"),
                              "generate",
                              "temporal",
                              "--out",
                              dir_ / "data",
                              "--nodes",
                              "500",
                              "--events",
                              "50000",
                              "--repeat",
                              "0.3",
                              "--homophily",
                              "0.9",
                              "--drift",
                              "10",
                              "--features",
                              "0",
                              "--classes",
                              "8",
                              "--edge-features",
                              "16",
                              "--label-events",
                              "5000"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
  }

  RunReport train(const std::string& name,
                  const std::string& model,
                  std::vector<std::string> sets) const {
    sets.push_back("run.dir=" + (dir_ / name).string());
    const std::string toml = fmt::format(
        "dataset.path = \"{}\"\nmemory.host = \"256MiB\"\nmodel = {{ {} }}\n"
        "[sampler]\ntype = \"temporal\"\ncount = [20]\n"
        "[task]\ntype = \"dynamic_node_classification\"\nwidth = 32\nhidden = 32\n"
        "[train]\nbatch_size = 100\ncompute_threads = 1\n"
        "optimizer = {{ type = \"adam\", lr = 0.005 }}\n[eval]\nbatch_size = 100\n",
        (dir_ / "data").string(),
        model);
    Quiet quiet;
    return run_training(options_of(toml, sets), RunDirectory::Mode::kNew, quiet.context);
  }

 private:
  TempDir dir_;
};

constexpr const char* kMixer = "type = \"graphmixer\", hidden = 32, time_width = 16";

}  // namespace

TEST_CASE("classes that drift: a model is above the last label and the mean of the last ones") {
  const DriftingLabels labels;
  const RunReport trained = labels.train("trained", kMixer, {"train.epochs=10"});
  const double figure = trained.metrics.at("test.ndcg@10");
  for (const int count : {1, 7}) {
    CAPTURE(count);
    const RunReport past = labels.train(fmt::format("past{}", count),
                                        fmt::format("type = \"past_labels\", labels = {}", count),
                                        {"train.epochs=0"});
    const double floor = past.metrics.at("test.ndcg@10");
    CHECK(floor > 0.4);
    CHECK(figure > floor);
    CHECK(trained.metrics.at("test.accuracy") > past.metrics.at("test.accuracy"));
  }
  CHECK_THROWS_AS(labels.train("none", "type = \"past_labels\"", {"train.epochs=1"}), Error);
  CHECK_THROWS_AS(labels.train("memory", "type = \"tgn\", hidden = 12", {"train.epochs=1"}), Error);
}

TEST_CASE("labels at times: the same run with events on disk as with them in memory") {
  const DriftingLabels labels;
  const RunReport memory = labels.train("memory", kMixer, {"train.epochs=1"});
  const RunReport disk = labels.train(
      "disk", kMixer, {"train.epochs=1", "storage.topology=disk", "storage.features=disk"});
  CHECK(disk.weights_xxh3 == memory.weights_xxh3);
  CHECK(disk.batches_xxh3 == memory.batches_xxh3);
  CHECK(disk.metrics.at("test.ndcg@10") == memory.metrics.at("test.ndcg@10"));
  CHECK(disk.metrics.at("valid.loss") == memory.metrics.at("valid.loss"));
}
