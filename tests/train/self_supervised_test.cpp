// Runs of task self_supervised, and runs that go on from their encoders.
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "train/checkpoint.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

/// Runs over one generated dataset, each in a directory of its own.
struct Runs {
  TempDir dir;
  Quiet quiet;

  Runs() { generate_dataset(dir / "data"); }

  std::string path(const std::string& name) const { return (dir / name).string(); }
  /// A GCN of two layers.
  RunOptions options(const std::string& name, const std::vector<std::string>& sets) const {
    return options_of("dataset.path = \"" + path("data") + "\"\nrun.dir = \"" + path(name) +
                          "\"\nmemory.host = \"256MiB\"\n"
                          "model = { type = \"gcn\", hidden = 16, dropout = 0.0 }\n"
                          "sampler.fanout = [5, 5]\n"
                          "eval.every = 2\n"
                          "[train]\nepochs = 2\nbatch_size = 256\ncompute_threads = 1\n"
                          "optimizer = { type = \"adam\", lr = 0.005 }\n",
                      sets);
  }
  RunReport train(const std::string& name, const std::vector<std::string>& sets) {
    return run_training(options(name, sets), RunDirectory::Mode::kNew, quiet.context);
  }
  /// Bytes, by name.
  std::map<std::string, std::vector<int>> weights(const std::string& name) const {
    std::map<std::string, std::vector<int>> all;
    const StoredWeights stored = read_weights(stored_checkpoint(path(name), CheckpointKind::kBest));
    for (const CheckpointTensor& tensor : stored.tensors) {
      std::vector<int>& bytes = all[tensor.name];
      for (const std::byte each : tensor.value.raw()) bytes.push_back(std::to_integer<int>(each));
    }
    return all;
  }
};

std::vector<std::string> joined(std::vector<std::string> sets,
                                const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

/// GraphMAE with everything of GCMAE, its decoder over one more layer.
const std::vector<std::string> kGcmae{"task.type=self_supervised",
                                      "task.width=16",
                                      "task.contrast.weight=0.3",
                                      "task.contrast.nodes=256",
                                      "task.adjacency.weight=0.3",
                                      "task.adjacency.nodes=64",
                                      "task.variance.weight=0.5",
                                      "sampler.fanout=[5, 5, 5]"};
const std::vector<std::string> kGraphMae2{"task.type=self_supervised",
                                          "task.width=16",
                                          "task.masked.remask=random",
                                          "task.latent.weight=0.2",
                                          "sampler.fanout=[5, 5, 5]"};
const std::vector<std::string> kDgi{
    "task.type=self_supervised", "task.width=16", "task.method=dgi"};
const std::vector<std::string> kBgrl{
    "task.type=self_supervised", "task.width=16", "task.method=bgrl", "model.norm=batch"};

}  // namespace

TEST_CASE("each method trains in mini-batches, and its embeddings tell classes") {
  Runs runs;
  int number = 0;
  for (const std::vector<std::string>& method : {kGcmae, kGraphMae2, kDgi, kBgrl}) {
    const std::string name = "run" + std::to_string(number++);
    CAPTURE(name);
    const RunReport report = runs.train(name, joined(method, {"train.epochs=4"}));
    CHECK(report.epochs == 4);
    CHECK(report.best_epoch.has_value());
    // Four classes: by chance a quarter.
    CHECK(report.metrics.at("test.accuracy") > 0.4);
    CHECK(report.metrics.at("valid.accuracy") > 0.4);
    CHECK(std::isfinite(report.metrics.at("test.nmi")));
    CHECK(std::isfinite(report.metrics.at("test.ari")));
    CHECK(report.ledger_peak <= report.budget);
  }
}

TEST_CASE("places and threads of data change no bit, and a resumed run ends as one that was not") {
  Runs runs;
  for (const std::vector<std::string>& one : {kGcmae, kGraphMae2, kBgrl}) {
    const std::vector<std::string> method = joined(one, {"eval.every=1"});
    CAPTURE(method[2]);
    fs::remove_all(runs.dir / "a");
    fs::remove_all(runs.dir / "b");
    const RunReport expected = runs.train("a", joined(method, {"storage.features=memory"}));
    const RunReport other = runs.train(
        "b", joined(method, {"storage.features=disk", "train.data_threads=3", "train.epochs=1"}));
    const RunReport resumed =
        resume_training(runs.path("b"), {"train.epochs=2"}, runs.quiet.context);
    CHECK(other.epochs == 1);
    CHECK(resumed.weights_xxh3 == expected.weights_xxh3);
    CHECK(resumed.metrics.at("test.accuracy") == expected.metrics.at("test.accuracy"));
    CHECK(resumed.metrics.at("test.nmi") == expected.metrics.at("test.nmi"));
  }
}

TEST_CASE("clusters and subgraphs train too, and the full graph is one mini-batch") {
  Runs runs;
  const std::vector<std::string> full{
      "sampler.fanout=[-1, -1, -1]", "train.batch_size=2000", "task.measured=all"};
  const RunReport whole = runs.train("whole", joined(kGcmae, full));
  CHECK(whole.metrics.at("test.accuracy") > 0.3);
  std::vector<std::string> sampled{"task.type=self_supervised", "task.width=16"};
  const RunReport subgraph =
      runs.train("subgraph", joined(sampled, {"sampler.type=subgraph", "sampler.layers=3"}));
  CHECK(subgraph.epochs == 2);
  CHECK(std::isfinite(subgraph.metrics.at("test.accuracy")));
}

TEST_CASE("without validation the last epoch is tested") {
  Runs runs;
  const RunReport report = runs.train("last", joined(kDgi, {"task.choose=last"}));
  CHECK_FALSE(report.best_epoch.has_value());
  CHECK(report.metrics.count("valid.accuracy") == 0);
  CHECK(std::isfinite(report.metrics.at("test.accuracy")));
}

TEST_CASE("a report has what was measured, and the best epoch is chosen by one of these") {
  Runs runs;
  const RunReport report = runs.train("accuracy", kDgi);
  const auto names = [](const RunReport& of) {
    std::set<std::string> all;
    for (const auto& [name, value] : of.metrics) {
      CHECK_MESSAGE(std::isfinite(value), name);
      all.insert(name);
    }
    return all;
  };
  std::set<std::string> expected{"train.loss",
                                 "valid.accuracy",
                                 "test.accuracy",
                                 "test.ari",
                                 "test.f1_macro",
                                 "test.f1_micro",
                                 "test.nmi"};
  CHECK(names(report) == expected);
  const std::string chosen = "train.early_stopping.metric=";
  const RunReport by_clusters = runs.train("nmi", joined(kDgi, {chosen + "valid.nmi"}));
  CHECK(by_clusters.best_epoch.has_value());
  expected.insert({"valid.ari", "valid.nmi"});
  CHECK(names(by_clusters) == expected);
  const RunReport again = evaluate_run(
      runs.path("accuracy"), {}, {Part::kValid, CheckpointKind::kBest}, runs.quiet.context);
  CHECK(names(again) == std::set<std::string>{"valid.accuracy"});

  const auto refused = [&](const std::string& metric) {
    return expect_error([&] { (void)runs.train("refused", joined(kDgi, {chosen + metric})); });
  };
  const Error of_tests = refused("valid.f1_macro");
  CHECK(of_tests.code() == ErrorCode::kUsage);
  CHECK(of_tests.message() ==
        "train.early_stopping.metric = \"valid.f1_macro\": a validation of task 'self_supervised' "
        "does not measure it, only a test does");
  CHECK(of_tests.hint() == "set it to one of valid.accuracy, valid.ari, valid.nmi");
  CHECK(refused("valid.acuracy").hint() ==
        "did you mean 'valid.accuracy'? known: valid.accuracy, valid.ari, valid.nmi");
  CHECK_FALSE(fs::exists(runs.path("refused")));
}

TEST_CASE("classification goes on from an encoder, frozen or not") {
  Runs runs;
  (void)runs.train("pre", kGcmae);
  const auto before = runs.weights("pre");
  const std::string from = "pretrained.from=" + runs.path("pre");
  const RunReport frozen = runs.train("frozen", {from, "pretrained.frozen=true"});
  const auto kept = runs.weights("frozen");
  (void)runs.train("tuned", {from});
  const auto tuned = runs.weights("tuned");
  int compared = 0;
  for (const auto& [name, bytes] : before) {
    if (name.starts_with("head.")) continue;
    CAPTURE(name);
    CHECK(kept.at("encoder." + name) == bytes);
    CHECK(tuned.at("encoder." + name) != bytes);
    ++compared;
  }
  CHECK(compared == 4);  // two layers, each a matrix and a bias
  CHECK(kept.count("out.weight") == 1);
  CHECK(frozen.metrics.count("test.accuracy") == 1);
  // The run by itself: how wide the encoder is stands in its config.
  fs::remove_all(runs.dir / "pre");
  const RunReport again = evaluate_run(
      runs.path("frozen"), {}, {Part::kTest, CheckpointKind::kBest}, runs.quiet.context);
  CHECK(again.metrics.at("test.accuracy") == frozen.metrics.at("test.accuracy"));
}

TEST_CASE("what cannot be gone on from is refused") {
  Runs runs;
  (void)runs.train("pre", kDgi);
  (void)runs.train("classes", {});
  const std::string from = "pretrained.from=";
  const auto refused = [&](const std::vector<std::string>& sets) {
    fs::remove_all(runs.dir / "new");
    try {
      (void)runs.train("new", sets);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kUsage);
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  CHECK(refused({from + runs.path("classes")}).find("its task is") != std::string::npos);
  CHECK(refused({from + runs.path("pre"), "model.type=gin"}).find("its model is") !=
        std::string::npos);
  CHECK(refused({from + runs.path("pre"), "model.hidden=24"})
            .find("its model.hidden is 16, and this run's 24") != std::string::npos);
  // Weights of the same shapes, and yet another model.
  CHECK(refused({from + runs.path("pre"), "model.output_activation=elu"})
            .find("model.output_activation") != std::string::npos);
  // A width that the config tells itself hides no other model.
  CHECK(refused({from + runs.path("pre"), "pretrained.width=8", "model.output_activation=elu"})
            .find("model.output_activation") != std::string::npos);
  // Rows of another size are read by the same weights.
  CHECK(refused({from + runs.path("pre"), "dataset.normalize=row_l1"})
            .find("its dataset.normalize is \"none\", and this run's \"row_l1\"") !=
        std::string::npos);
  // Shapes that follow from the data are checked by the weights themselves.
  generate_dataset(runs.dir / "wide", {{"--features", "24"}});
  CHECK(refused({from + runs.path("pre"), "dataset.path=" + runs.path("wide")})
            .find("another shape") != std::string::npos);
  CHECK(refused(joined(kDgi, {from + runs.path("pre")})).find("tasks with labels") !=
        std::string::npos);
  CHECK(refused(joined(kDgi, {"dataset.split=defualt"})).find("defualt") != std::string::npos);
  CHECK(refused(joined(kDgi, {"task.contrast.weight=1"})).find("task.contrast.weight is 1") !=
        std::string::npos);
  CHECK(refused(joined(kGcmae, {"sampler.fanout=[5, 5]"})).find("another 1") != std::string::npos);
  CHECK(refused(joined(kDgi, {"model.type=sign", "model.dropout=0.0"})).find("masked or dropped") !=
        std::string::npos);
}
