// Training in process: what it learns, and that nothing that should not matter does. Kills are in
// tests/cli.
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace sluice;
using namespace sluice::test;

namespace {

RunReport train(const TempDir& dir, const std::string& toml, const std::vector<std::string>& sets) {
  Quiet quiet;
  std::filesystem::remove_all(dir / "run");
  return run_training(options_of(toml, sets), RunDirectory::Mode::kNew, quiet.context);
}

// All that must not change: hashes and every metric.
nlohmann::json results(const RunReport& report) {
  return {to_json(report).at("batches_xxh3"),
          to_json(report).at("weights_xxh3"),
          to_json(report).at("metrics")};
}

}  // namespace

TEST_CASE("models learn a graph that can be learned, and the report says so") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const std::string config = short_config(dir, dir / "x");
  std::string last;
  for (const std::string& model : names_with(registry().models, "input_dropout")) {
    last = model;
    const RunReport report =
        train(dir, config, {"model.type=" + model, "train.epochs=8", "train.optimizer.lr=0.01"});
    CAPTURE(model);
    CHECK(report.metrics.at("test.accuracy") > 0.7);
    CHECK(report.epochs == 8);
    CHECK(report.best_epoch.value() >= 1);
    CHECK(report.epoch_seconds.size() == 8);
    CHECK(report.metrics.count("train.loss") == 1);
    CHECK(report.metrics.count("valid.accuracy") == 1);
    CHECK(report.bytes_written > 0);
    CHECK(report.ledger_peak <= report.budget);
  }
  const nlohmann::json line =
      nlohmann::json::parse(read_all(dir / "run/metrics.jsonl")
                                .substr(0, read_all(dir / "run/metrics.jsonl").find('\n')));
  for (const char* key :
       {"epoch", "metrics", "best", "seconds", "seeds_per_second", "bytes", "bound"}) {
    CHECK(line.contains(key));
  }
  CHECK(nlohmann::json::parse(read_all(dir / "run/report.json")).at("model") == last);
}

TEST_CASE("multi-label and regression train too") {
  const TempDir dir;
  generate_dataset(dir / "m", {{"--labels", "multi_label"}});
  generate_dataset(dir / "r", {{"--labels", "regression"}});
  const std::vector<std::string> sets{"train.epochs=10", "train.optimizer.lr=0.01"};
  const RunReport labels = train(dir, short_config(dir, dir / "m"), sets);
  CHECK(labels.metrics.at("test.f1_micro") > 0.7);
  std::vector<std::string> regression = sets;
  regression.push_back("task.type=regression");
  CHECK(train(dir, short_config(dir, dir / "r"), regression).metrics.at("test.r2") > 0.3);
}

TEST_CASE("placement, engine, window, threads, budget and verify change no bit") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const std::string config = short_config(dir, dir / "x");
  const nlohmann::json expected = results(train(dir, config, {"storage.features=memory"}));
  const std::vector<std::vector<std::string>> ways{
      {"storage.features=disk", "storage.io=pread"},
      {"storage.features=disk", "storage.window=1", "train.data_threads=1"},
      {"storage.features=disk", "memory.host=64MiB", "storage.verify=off", "train.data_threads=3"}};
  for (const auto& sets : ways) {
    CAPTURE(sets.back());
    const RunReport report = train(dir, config, sets);
    CHECK(results(report) == expected);
    CHECK(report.bytes_read > 0);
    CHECK(report.bytes_useful > 0);
  }
  CHECK(results(train(dir, config, {"seed=2"})) != expected);
}

TEST_CASE("early stopping stops, tests the best epoch, and needs validation seeds") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const std::string config = short_config(dir, dir / "x");
  const RunReport report =
      train(dir,
            config,
            {"train.epochs=50", "train.optimizer.lr=0.0", "train.early_stopping.patience=3"});
  CHECK(report.epochs == 4);
  CHECK(report.best_epoch == 1);
  const Error metric =
      expect_error([&] { train(dir, config, {"train.early_stopping.metric=valid.acuracy"}); });
  CHECK(metric.code() == ErrorCode::kUsage);
  CHECK(metric.hint().find("valid.accuracy") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(dir / "run"));

  generate_dataset(dir / "y", {{"--valid", "0.0"}});
  const Error error = expect_error(
      [&] { train(dir, short_config(dir, dir / "y"), {"train.early_stopping.patience=3"}); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message() == "early stopping needs validation seeds, and split 'default' has none");
  const RunReport without = train(dir, short_config(dir, dir / "y"), {});
  CHECK_FALSE(without.best_epoch);
  CHECK(without.metrics.count("test.accuracy") == 1);
}

TEST_CASE("a run goes on where it stood: epochs added later equal epochs at once") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const std::string config = short_config(dir, dir / "x");
  const RunReport whole = train(dir, config, {"train.epochs=4", "model.norm=batch"});
  const std::string metrics = read_all(dir / "run/metrics.jsonl");
  (void)train(dir, config, {"train.epochs=2", "model.norm=batch"});
  Quiet quiet;
  const std::string run = (dir / "run").string();
  const RunReport more =
      resume_training(run, {"train.epochs=4", "storage.features=disk"}, quiet.context);
  CHECK(more.epochs == 4);
  CHECK(to_json(more).at("weights_xxh3") == to_json(whole).at("weights_xxh3"));
  CHECK(more.metrics == whole.metrics);
  // A finished run only tests again.
  CHECK(results(resume_training(run, {}, quiet.context)) == results(more));
  CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 4);

  const RunReport evaluated =
      evaluate_run(run, {}, {Part::kTest, CheckpointKind::kBest}, quiet.context);
  CHECK(evaluated.metrics.at("test.accuracy") == more.metrics.at("test.accuracy"));
}

TEST_CASE("fanouts must fit the model's layers") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const Error error =
      expect_error([&] { train(dir, short_config(dir, dir / "x"), {"model.layers=3"}); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message() == "[sampler] 'neighbor' makes 2 layers, model 'graphsage' has 3");
}
