// Training reaches what the generator says can be reached at best: regression and multi-label.
//
// The generator draws a node's features around its class's centre with deviation 1, and its labels
// from the class alone. Centres are 8 or more from the origin on average, and so further than that
// from each other: nearly every node lies nearest to its own, its neighbours are mostly of its
// class, and whoever learns the classes knows all that can be known of the labels.
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace sluice::test;
using nlohmann::json;

namespace {

constexpr int kNodes = 20'000;
constexpr double kTested = 0.3;

// The metrics of a training run of `epochs` on a generated dataset.
json trained(const std::string& task, int epochs, std::map<std::string, std::string> flags) {
  const TempDir dir;
  flags.insert({{"--nodes", std::to_string(kNodes)},
                {"--edges", std::to_string(5 * kNodes)},
                {"--train", "0.5"},
                {"--test", std::to_string(kTested)}});
  generate_dataset(dir / "data", flags);
  const auto config = dir.write("run.toml",
                                "dataset.path = \"" + (dir / "data").string() + "\"\nrun.dir = \"" +
                                    (dir / "run").string() +
                                    "\"\nmemory.host = \"128MiB\"\nsampler.fanout = [5, 5]\n"
                                    "model = { type = \"graphsage\", hidden = 64, dropout = 0.0 }\n"
                                    "task.type = \"" +
                                    task + "\"\n[train]\nepochs = " + std::to_string(epochs) +
                                    "\nbatch_size = 64\n"
                                    "optimizer = { type = \"adam\", lr = 0.003 }\n");
  const Outcome outcome = train({"run", config.string(), "--json"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out).at("metrics");
}

}  // namespace

TEST_CASE("regression comes down to the noise of the targets, and not below it") {
  // A target is a value of the class plus noise of deviation 0.3 that nothing tells of: no model's
  // expected squared error is below 0.09, and one that knows the class reaches it. Over n tested
  // nodes the mean of the squared noise itself deviates by 1.3 / sqrt(n) of it (its fourth moment
  // is 2.7: a sum of four uniforms); four times that is granted either way, and above it 10 % for
  // what is left to learn.
  constexpr double kNoise = 0.3;
  const double spread = 4 * 1.3 / std::sqrt(kNodes * kTested);
  const json metrics = trained("regression",
                               40,
                               {{"--labels", "regression"},
                                {"--target-noise", std::to_string(kNoise)},
                                {"--classes", "4"},
                                {"--features", "8"},
                                {"--signal", "8"}});
  const double error = metrics.at("test.mse").get<double>();
  MESSAGE("test error " << error << ", " << error / (kNoise * kNoise) << " of the noise");
  CHECK(error <= kNoise * kNoise * (1.1 + spread));
  CHECK(error >= kNoise * kNoise * (1 - spread));  // below: the model has seen the answers
}

TEST_CASE("multi-label classification gets every label of nearly every node right") {
  // Labels are a fixed set a class: whoever knows the class has them all, so F1 goes to 1. One
  // label in a thousand is granted.
  const json metrics = trained(
      "node_classification",
      10,
      {{"--labels", "multi_label"}, {"--classes", "16"}, {"--features", "32"}, {"--signal", "16"}});
  MESSAGE("test F1 " << metrics.at("test.f1_micro") << ", whole sets right "
                     << metrics.at("test.accuracy"));
  CHECK(metrics.at("test.f1_micro") >= 0.999);
  CHECK(metrics.at("test.accuracy") >= 0.99);
}
