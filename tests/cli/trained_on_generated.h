// What training reaches beside what the generator says can be reached at best.
//
// The generator draws a node's features around its class's centre with deviation 1, and its labels
// from the class alone. Centres are 8 or more from the origin on average, and so further than that
// from each other: nearly every node lies nearest to its own, its neighbours are mostly of its
// class, and whoever learns the classes knows all that can be known of the labels.
#pragma once

#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <map>

namespace sluice::test {

inline constexpr int kGeneratedNodes = 20'000;
inline constexpr double kTestedShare = 0.3;

// The metrics of a training run of `epochs` on a generated dataset.
inline nlohmann::json trained_on_generated(const std::string& task,
                                           int epochs,
                                           std::map<std::string, std::string> flags) {
  const TempDir dir;
  flags.insert({{"--nodes", std::to_string(kGeneratedNodes)},
                {"--edges", std::to_string(5 * kGeneratedNodes)},
                {"--train", "0.5"},
                {"--test", std::to_string(kTestedShare)}});
  generate_dataset(dir / "data", flags);
  const auto config = dir.write("run.toml",
                                "dataset.path = \"" + (dir / "data").string() + "\"\nrun.dir = \"" +
                                    (dir / "run").string() +
                                    "\"\nmemory.host = \"128MiB\"\nsampler.fanout = [5, 5]\n"
                                    "model = { type = \"graphsage\", hidden = 64, dropout = 0.0 }\n"
                                    "task.type = \"" +
                                    task + "\"\n[train]\nepochs = " + std::to_string(epochs) +
                                    "\nbatch_size = 64\ncompute_threads = 1\n"
                                    "optimizer = { type = \"adam\", lr = 0.003 }\n");
  const Outcome outcome = train({"run", config.string(), "--json"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return nlohmann::json::parse(outcome.out).at("metrics");
}

}  // namespace sluice::test
