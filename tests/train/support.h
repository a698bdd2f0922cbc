// Options over a small generated dataset, for tests of the training room.
#pragma once

#include "core/log.h"
#include "support/catalog_names.h"  // IWYU pragma: export
#include "support/temp_dir.h"
#include "train/commands.h"
#include "train/options.h"

#include <sluice/train.h>

#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace sluice::test {

inline const TrainRegistry& registry() {
  static const TrainRegistry all = TrainRegistry::builtin();
  return all;
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

/// What the commands need, and what they said.
struct Heard {
  std::ostringstream text;
  std::shared_ptr<Logger> log =
      std::make_shared<Logger>("heard", std::make_shared<spdlog::sinks::ostream_sink_st>(text));
  PeakMemory peak;
  TrainContext context{registry(), *log, peak, ProgressStyle::kSilent};

  bool said(const std::string& words) const { return text.str().find(words) != std::string::npos; }
};

/// What the commands need, silent.
struct Quiet {
  std::shared_ptr<Logger> log = make_silent_logger();
  PeakMemory peak;
  TrainContext context{registry(), *log, peak, ProgressStyle::kSilent};
};

}  // namespace sluice::test
