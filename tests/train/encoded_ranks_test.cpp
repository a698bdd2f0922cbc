// Runs whose links an encoder ranks among all nodes: what they want room for, what is refused, and
// what reports say of it.
#include "support/expect_error.h"
#include "train/embedding_support.h"
#include "train/encoded_nodes.h"
#include "train/evaluation.h"
#include "train/exact_run.h"
#include "train/trainer.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

using namespace sluice;
using namespace sluice::test;

namespace {

const char* const kRankedTask =
    "ranking = \"all\"\nloss = \"softmax\"\nshare = true\nnegatives = 8\neval_negatives = 9";

// A file system that has no free byte, whoever asks.
const char* const kFullDisk = "/proc";

std::vector<std::string> sage_with(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"model.type=graphsage", "sampler.fanout=[5, 5]"});
  return more;
}

}  // namespace

TEST_CASE("a run without disk for rows of all nodes is refused before it trains") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  OpenParts opened(dir, kRankedTask, sage_with());
  check_space_to_rank(opened.parts);  // the run's directory is not there yet
  opened.options.run.dir = std::string(kFullDisk) + "/of-no-run";
  const Error error = expect_error([&] { check_space_to_rank(opened.parts); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(error.message().find("wants rows of all nodes for the test") != std::string::npos);
  CHECK(error.hint().find("run.dir") != std::string::npos);
  // Rows that are learned themselves are made by nobody.
  OpenParts learned(dir, kRankedTask, {"run.dir=" + opened.options.run.dir});
  check_space_to_rank(learned.parts);
}

TEST_CASE("a run that finds no room for rows of all nodes at its end tests among drawn ones") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  for (const char* const place : {"disk", "memory"}) {
    CAPTURE(std::string(place));
    Heard heard;
    RunOptions options = options_of(config_of(dir, kRankedTask),
                                    sage_with({std::string("storage.embeddings=") + place}));
    PlannedRun run = plan_run(options, {}, *heard.log);
    RunDirectory directory(options.run.dir, RunDirectory::Mode::kReplace);
    Trainer trainer(run, directory, options.text(), *heard.log, ProgressStyle::kSilent);
    trainer.begin();
    trainer.train();
    const std::string own = std::exchange(options.run.dir, std::string(kFullDisk));
    const Metrics drawn = trainer.test();
    CHECK_FALSE(trainer.tested_by_layer());
    CHECK(ranked_among(*run.parts, trainer.tested_by_layer()) == "drawn");
    CHECK(heard.said("sluice-train evaluate " + own));
    CHECK(same_figures(
        drawn,
        evaluate(*run.parts, Part::kTest, run.plan.loader, 0, ProgressStyle::kSilent, *heard.log)
            .metrics));

    options.run.dir = own;
    const Metrics all = trainer.test();
    CHECK(trainer.tested_by_layer());
    CHECK(ranked_among(*run.parts, trainer.tested_by_layer()) == "all");
    CHECK(all.at("test.mrr") != drawn.at("test.mrr"));
  }
}

TEST_CASE("reports say what links were ranked among, and count the bytes of rows of all nodes") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  const std::string text = config_of(dir, kRankedTask), run = (dir / "run").string();
  const RunReport trained =
      run_training(options_of(text, sage_with()), RunDirectory::Mode::kNew, quiet.context);
  CHECK(trained.ranked_among == "all");
  CHECK(nlohmann::json::parse(read_all(dir / "run" / "report.json")).at("ranked_among") == "all");
  const RunReport found = evaluate_run(run, {}, {Part::kTest}, quiet.context);
  CHECK(found.ranked_among == "all");
  CHECK(found.bytes_written >= kEntities * 8 * sizeof(float));
  const RunReport sampled =
      evaluate_run(run, {"task.ranking=sampled"}, {Part::kTest}, quiet.context);
  CHECK(sampled.ranked_among.empty());
  CHECK(sampled.bytes_written == 0);
}

TEST_CASE("rows of all nodes are made on the CPU for a run of a GPU, also where there is none") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  const std::string text = config_of(dir, kRankedTask), run = (dir / "run").string();
  const RunReport trained =
      run_training(options_of(text, sage_with()), RunDirectory::Mode::kNew, quiet.context);
  const std::vector<std::string> gpu{"train.device=cuda"};
  CHECK(evaluate_run(run, gpu, {Part::kTest}, quiet.context).metrics.at("test.mrr") ==
        trained.metrics.at("test.mrr"));
  const PredictReport best = predict_best_run(
      run, gpu, {Part::kTest}, {LinkEnd::kDestination, 3}, dir / "best.csv", quiet.context);
  CHECK(best.rows == graph.parts[2].size() * 3);
}

TEST_CASE("an encoder ranks no training links by rows that know them, unless it is told to") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  const std::string text = config_of(dir, kRankedTask), run = (dir / "run").string();
  (void)run_training(options_of(text, sage_with()), RunDirectory::Mode::kNew, quiet.context);
  const Error error =
      expect_error([&] { (void)evaluate_run(run, {}, {Part::kTrain}, quiet.context); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message().find("would know the answers") != std::string::npos);
  CHECK(error.hint().find("task.ranking=sampled") != std::string::npos);
  EvaluateOptions exact{Part::kTrain};
  exact.inference = Inference::kByLayer;
  CHECK(evaluate_run(run, {}, exact, quiet.context).metrics.contains("train.mrr"));
  const RunReport beside =
      evaluate_run(run,
                   {"task.ranking=sampled", "task.ends=destination", "task.share=false"},
                   {Part::kTrain},
                   quiet.context);
  CHECK(std::isfinite(beside.metrics.at("train.mrr")));
}

TEST_CASE("a test stands beside an exact run's where both were ranked among the same") {
  const ExactRun found{"runs/exact", 3, {{"test.mrr", 0.5}, {"valid.mrr", 0.25}}, "all"};
  ExactRun same = found, unlike = found;
  CHECK_FALSE(leave_out_unlike(same, "all"));
  CHECK(same.metrics == found.metrics);
  CHECK(leave_out_unlike(unlike, "drawn"));
  CHECK(unlike.metrics == Metrics{{"valid.mrr", 0.25}});
}
