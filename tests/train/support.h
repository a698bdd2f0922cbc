// A small generated dataset and options over it, for tests of the training room. The dataset is
// made by sluice-prep, as the importers' libraries never share a process with LibTorch.
#pragma once

#include "core/log.h"
#include "support/expect_error.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "train/budget.h"
#include "train/commands.h"
#include "train/options.h"

#include <sluice/train.h>

#include <string>
#include <vector>

namespace sluice::test {

inline const TrainRegistry& registry() {
  static const TrainRegistry all = TrainRegistry::builtin();
  return all;
}

/// 2000 nodes, 20 features, 4 classes; `more` are flags of `sluice-prep generate sbm`.
inline void generate(const std::filesystem::path& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> command{tool("sluice-prep"),
                                   "generate",
                                   "sbm",
                                   "--nodes",
                                   "2000",
                                   "--edges",
                                   "10000",
                                   "--features",
                                   "20",
                                   "--classes",
                                   "4",
                                   "--train",
                                   "0.2",
                                   "--valid",
                                   "0.1",
                                   "--test",
                                   "0.1",
                                   "--out",
                                   out.string()};
  command.insert(command.end(), more.begin(), more.end());
  const Outcome outcome = run(command);
  if (outcome.code != 0) throw std::runtime_error("sluice-prep failed: " + outcome.err);
}

/// TOML of a short run over `dataset`, in `dir`/run.
inline std::string short_config(const TempDir& dir, const std::filesystem::path& dataset) {
  return "dataset.path = \"" + dataset.string() + "\"\nrun.dir = \"" + (dir / "run").string() +
         "\"\nmemory.host = \"256MiB\"\n"
         "model = { type = \"graphsage\", hidden = 16 }\n"
         "sampler.fanout = [5, 5]\n"
         "[train]\nepochs = 2\nbatch_size = 64\ncompute_threads = 1\n";
}

inline RunOptions options_of(const std::string& toml, const std::vector<std::string>& sets = {}) {
  Config config = Config::parse(toml, "test.toml");
  for (const std::string& assignment : sets) config.set(assignment);
  return resolve_options(config, registry());
}

/// What the commands need, silent.
struct Quiet {
  std::shared_ptr<Logger> log = make_silent_logger();
  PeakMemory peak;
  TrainContext context{registry(), *log, peak, ProgressStyle::kSilent};
};

}  // namespace sluice::test
