// Runs over data that is odd in one place: mini-batches of one row, parts without labels, values
// that are not finite. What comes out is right, or the user is told.
#include "support/expect_error.h"
#include "support/own_graph.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

using namespace sluice;
using namespace sluice::test;

namespace {

std::string odd_config(const TempDir& dir) {
  return "dataset.path = \"" + (dir / "d").string() + "\"\nrun.dir = \"" + (dir / "run").string() +
         "\"\nmemory.host = \"256MiB\"\nmodel = { type = \"graphsage\", hidden = 8, dropout = 0.0 "
         "}\n"
         "sampler.fanout = [-1, -1]\n[train]\nepochs = 3\nbatch_size = 1024\n"
         "compute_threads = 1\noptimizer = { type = \"adam\", lr = 0.01 }\n";
}

RunReport train_odd(const TempDir& dir, Heard& heard, const std::vector<std::string>& sets) {
  std::filesystem::remove_all(dir / "run");
  return run_training(options_of(odd_config(dir), sets), RunDirectory::Mode::kNew, heard.context);
}

RunReport evaluate_odd(const TempDir& dir, Heard& heard, Part part) {
  return evaluate_run((dir / "run").string(), {}, {part, CheckpointKind::kBest}, heard.context);
}

// Labels of these nodes are missing.
OwnGraph without_labels_of(const std::vector<std::size_t>& nodes) {
  OwnGraph graph;
  for (const std::size_t node : nodes) graph.labels[node] = "";
  return graph;
}

OwnGraph with_regression(OwnGraph graph) {
  graph.kind = "regression";
  for (std::string& label : graph.labels)
    if (!label.empty()) label = label == "0" ? "-1.5" : "2.5";
  return graph;
}

bool no_figure(const RunReport& report, const std::string& metric) {
  // As it is read: what is no number becomes null in writing.
  const nlohmann::json metrics = nlohmann::json::parse(to_json(report).dump()).at("metrics");
  return metrics.contains(metric) && metrics.at(metric).is_null();
}

}  // namespace

TEST_CASE("batch norm meets mini-batches of one row: the last one, all of them, a single seed") {
  const TempDir dir;
  OwnGraph graph;
  graph.train = {0, 1, 2, 3, 4};
  graph.import(dir, dir / "d");
  for (const std::string& model : names_with(registry().models, "norm")) {
    CAPTURE(model);
    const std::vector<std::string> batch_norm{"model.type=" + model, "model.norm=batch"};
    for (const char* size : {"train.batch_size=4", "train.batch_size=1"}) {
      CAPTURE(size);
      Heard heard;
      std::vector<std::string> sets = batch_norm;
      sets.emplace_back(size);
      const RunReport report = train_odd(dir, heard, sets);
      CHECK(report.epochs == 3);
      CHECK(std::isfinite(report.metrics.at("train.loss")));
      CHECK(std::isfinite(report.metrics.at("test.loss")));
      CHECK(heard.said("train.batch_size"));
    }
    Heard quiet;
    std::vector<std::string> whole = batch_norm;
    whole.emplace_back("train.batch_size=5");
    (void)train_odd(dir, quiet, whole);
    CHECK_FALSE(quiet.said("single row"));
  }
  std::string without = odd_config(dir);
  const std::string fanout = "sampler.fanout = [-1, -1]\n";
  without.erase(without.find(fanout), fanout.size());
  const std::vector<std::vector<std::string>> samplers{
      {"sampler.type=subgraph", "sampler.fanout=[0, 0]"},
      {"sampler.type=walk", "sampler.length=1", "sampler.layers=2"},
      {"sampler.type=cluster", "sampler.clusters=12", "sampler.per_batch=1", "sampler.layers=2"},
      {"sampler.type=ladies", "sampler.nodes=[0, 0]"}};
  for (std::vector<std::string> sets : samplers) {
    CAPTURE(sets[0]);
    sets.insert(sets.end(), {"model.norm=batch", "train.batch_size=1"});
    Heard heard;
    std::filesystem::remove_all(dir / "run");
    const RunReport report =
        run_training(options_of(without, sets), RunDirectory::Mode::kNew, heard.context);
    CHECK(std::isfinite(report.metrics.at("train.loss")));
    CHECK(std::isfinite(report.metrics.at("test.loss")));
  }
  graph.train = {3};
  graph.import(dir, dir / "d");
  Heard heard;
  CHECK(train_odd(dir, heard, {"model.type=mlp", "model.norm=batch"}).epochs == 3);
  CHECK(heard.said("mini-batches of one seed"));
}

TEST_CASE("a part to train on without a label is refused, of classes and of targets") {
  const TempDir dir;
  for (const bool regression : {false, true}) {
    CAPTURE(regression);
    OwnGraph graph = without_labels_of({0, 1, 2, 3, 4, 5});
    if (regression) graph = with_regression(graph);
    graph.import(dir, dir / "d");
    Heard heard;
    const std::string task = regression ? "regression" : "node_classification";
    const Error error = expect_error([&] { (void)train_odd(dir, heard, {"task.type=" + task}); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message() ==
          "none of the 6 train nodes of split 'default' has a label (0 of 6): there is nothing to "
          "learn from");
    CHECK_FALSE(std::filesystem::exists(dir / "run"));
  }
}

TEST_CASE("early stopping by a part without a label is refused, by any metric; patience 0 is not") {
  const TempDir dir;
  without_labels_of({6, 7, 8}).import(dir, dir / "d");
  for (const char* set : {"train.early_stopping.patience=3",
                          "train.early_stopping.metric=valid.loss",
                          "train.early_stopping.metric=valid.f1_macro"}) {
    CAPTURE(set);
    Heard heard;
    const Error error = expect_error([&] { (void)train_odd(dir, heard, {set}); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message().find(
              "none of the 3 valid nodes of split 'default' has a label (0 of 3)") == 0);
    CHECK(error.hint().find("patience=0") != std::string::npos);
  }
}

TEST_CASE("parts without a label have no figures and no best epoch, and evaluate refuses them") {
  const TempDir dir;
  for (const bool regression : {false, true}) {
    CAPTURE(regression);
    OwnGraph graph = without_labels_of({6, 7, 8, 9, 10, 11});
    if (regression) graph = with_regression(graph);
    graph.import(dir, dir / "d");
    const std::string task = regression ? "regression" : "node_classification";
    const std::string main = regression ? "mse" : "accuracy";
    Heard heard;
    const RunReport report = train_odd(dir, heard, {"task.type=" + task});
    CHECK(report.epochs == 3);
    CHECK_FALSE(report.best_epoch);
    CHECK(no_figure(report, "valid." + main));
    CHECK(no_figure(report, "test." + main));
    CHECK(no_figure(report, "test.loss"));
    CHECK(heard.said("none of the 3 valid nodes of split 'default' has a label (0 of 3)"));
    CHECK(heard.said("none of the 3 test nodes of split 'default' has a label (0 of 3)"));
    CHECK_FALSE(std::filesystem::exists(dir / "run/checkpoints/best.ckpt"));
    CHECK(to_text(report).find("none") != std::string::npos);
    const RunReport more =
        resume_training((dir / "run").string(), {"train.epochs=4"}, heard.context);
    CHECK(no_figure(more, "valid." + main));
    for (const Part part : {Part::kValid, Part::kTest}) {
      const Error error = expect_error([&] { (void)evaluate_odd(dir, heard, part); });
      CHECK(error.code() == ErrorCode::kUsage);
      CHECK(error.message().find("has a label (0 of 3)") != std::string::npos);
    }
    CHECK(std::isfinite(evaluate_odd(dir, heard, Part::kTrain).metrics.at("train." + main)));
    CHECK(std::isfinite(evaluate_odd(dir, heard, Part::kAll).metrics.at("all." + main)));
  }
}

TEST_CASE("a part of which some nodes have labels is measured, and learnt from, by those") {
  const TempDir dir;
  without_labels_of({0, 1, 6, 7, 9, 10}).import(dir, dir / "d");
  Heard heard;
  const RunReport some = train_odd(dir, heard, {"train.early_stopping.patience=9"});
  CHECK(some.best_epoch);
  CHECK_FALSE(heard.said("has a label"));
  // The same graph, and the parts the labelled nodes alone.
  OwnGraph labelled = without_labels_of({0, 1, 6, 7, 9, 10});
  labelled.train = {2, 3, 4, 5};
  labelled.valid = {8};
  labelled.test = {11};
  labelled.import(dir, dir / "d");
  const RunReport those = train_odd(dir, heard, {"train.early_stopping.patience=9"});
  CHECK(some.metrics.at("test.accuracy") == those.metrics.at("test.accuracy"));
  CHECK(some.metrics.at("valid.loss") ==
        doctest::Approx(those.metrics.at("valid.loss")).epsilon(1e-3));
  CHECK(some.metrics.at("train.loss") ==
        doctest::Approx(those.metrics.at("train.loss")).epsilon(1e-3));
  // A mini-batch without a label weighs nothing in the loss.
  without_labels_of({0, 1, 2, 3, 4}).import(dir, dir / "d");
  const RunReport one = train_odd(dir, heard, {"train.batch_size=1", "train.epochs=1"});
  CHECK(one.metrics.at("train.loss") > 0.2);
}

TEST_CASE("what is not finite among the nodes to train on ends the run, and names the node") {
  const TempDir dir;
  for (const char* bad : {"nan", "inf", "-inf"}) {
    CAPTURE(bad);
    OwnGraph graph;
    graph.features[2][1] = bad;
    graph.import(dir, dir / "d");
    for (const std::string& model : names_with(registry().models, "input_dropout")) {
      if (model == "mlp") continue;                                    // does not see the neighbour
      if (model == "hgt" && std::string_view(bad) != "nan") continue;  // tanh of inf is 1
      CAPTURE(model);
      Heard heard;
      const Error error =
          expect_error([&] { (void)train_odd(dir, heard, {"model.type=" + model}); });
      CHECK(error.code() == ErrorCode::kData);
      CHECK(error.message() ==
            "the loss of mini-batch 1 of epoch 1 is not finite: features of node 2 are not");
      CHECK(error.hint().find("not_finite") != std::string::npos);
      CHECK_FALSE(std::filesystem::exists(dir / "run/checkpoints/best.ckpt"));
    }
  }
}

TEST_CASE(
    "sums that overflow from finite values end the run; weights too, where no loss shows it") {
  const TempDir dir;
  OwnGraph graph;
  for (auto& row : graph.features) row = {"3e38", "-2e38"};
  graph.import(dir, dir / "d");
  Heard heard;
  const Error error = expect_error([&] { (void)train_odd(dir, heard, {}); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message() == "the loss of mini-batch 1 of epoch 1 is not finite");

  // The one node that is not finite has no label: its output counts in no loss, its gradient in
  // the weights all the same.
  OwnGraph hidden;
  hidden.labels[2] = "";
  hidden.features[2][1] = "nan";
  hidden.import(dir, dir / "d");
  const Error weights = expect_error([&] {
    (void)train_odd(dir, heard, {"model.type=mlp", "train.epochs=1"});
  });
  CHECK(weights.message().find("not finite at the end of epoch 1") != std::string::npos);
}

TEST_CASE(
    "outputs that are not finite give no figures and no best, and a warning, of one node too") {
  const TempDir dir;
  for (const char* metric : {"valid.accuracy", "valid.loss"}) {
    CAPTURE(metric);
    OwnGraph graph;
    graph.features[7][0] = "nan";
    graph.features[10][1] = "inf";
    graph.import(dir, dir / "d");
    // The MLP sees a node's own row alone, so that training stays clean.
    Heard heard;
    const RunReport report = train_odd(dir,
                                       heard,
                                       {"model.type=mlp",
                                        "train.epochs=6",
                                        "train.early_stopping.patience=2",
                                        std::string("train.early_stopping.metric=") + metric});
    CHECK(report.epochs == 6);  // what is no figure stops nothing
    CHECK_FALSE(report.best_epoch);
    CHECK(no_figure(report, "valid.accuracy"));
    CHECK(no_figure(report, "test.accuracy"));
    CHECK(no_figure(report, "test.f1_macro"));
    CHECK(std::isfinite(report.metrics.at("train.loss")));
    CHECK(heard.said("outputs of 1 of 3 valid nodes are not finite, first of node 7"));
    CHECK(heard.said("outputs of 1 of 3 test nodes are not finite, first of node 10"));

    Heard again;
    (void)resume_training((dir / "run").string(), {"train.epochs=7"}, again.context);
    CHECK(again.said("outputs of 1 of 3 valid nodes"));
    CHECK(no_figure(evaluate_odd(dir, again, Part::kTest), "test.loss"));
    CHECK(no_figure(evaluate_odd(dir, again, Part::kAll), "all.accuracy"));
    CHECK(again.said("outputs of 2 of 12 all nodes are not finite, first of node 7"));
    CHECK(std::isfinite(evaluate_odd(dir, again, Part::kTrain).metrics.at("train.accuracy")));
  }
}

TEST_CASE("an output without a label that is not finite spoils no figure, and is said") {
  const TempDir dir;
  OwnGraph graph = without_labels_of({7});
  graph.features[7][0] = "nan";
  graph.import(dir, dir / "d");
  Heard heard;
  const RunReport report = train_odd(dir, heard, {"model.type=mlp"});
  CHECK(report.best_epoch);
  CHECK(std::isfinite(report.metrics.at("valid.accuracy")));
  CHECK(heard.said("outputs of 1 of 3 valid nodes are not finite, first of node 7"));
}

TEST_CASE("predictions of nodes whose outputs are not finite are empty, and that is said") {
  const TempDir dir;
  OwnGraph graph;
  graph.features[7][0] = "nan";
  graph.import(dir, dir / "d");
  Heard heard;
  (void)train_odd(dir, heard, {"model.type=mlp"});
  const EvaluateOptions all{Part::kAll, CheckpointKind::kLast};
  const std::string run = (dir / "run").string();
  const PredictReport classes = predict_run(run, {}, all, dir / "p.csv", heard.context);
  CHECK(classes.not_finite == 1);
  CHECK(
      heard.said("outputs of 1 of 12 all nodes are not finite, first of node 7: they have no "
                 "prediction"));
  const std::string csv = read_all(dir / "p.csv");
  CHECK(csv.find("\n7,\n") != std::string::npos);
  CHECK(csv.find("\n6,\n") == std::string::npos);

  with_regression(graph).import(dir, dir / "d");
  (void)train_odd(dir, heard, {"model.type=mlp", "task.type=regression"});
  CHECK(predict_run(run, {}, all, dir / "p.csv", heard.context).not_finite == 1);
  CHECK(read_all(dir / "p.csv").find("\n7,\n") != std::string::npos);
}

TEST_CASE("rows of zeros and normalised rows are finite") {
  const TempDir dir;
  OwnGraph graph;
  for (const std::size_t node : {1u, 7u, 10u}) graph.features[node] = {"0", "0"};
  graph.import(dir, dir / "d");
  Heard heard;
  const RunReport report = train_odd(dir, heard, {"dataset.normalize=row_l1"});
  CHECK(report.best_epoch);
  CHECK(std::isfinite(report.metrics.at("test.loss")));
  CHECK_FALSE(heard.said("not finite"));
}
