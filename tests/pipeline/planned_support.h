// What tests of planned epochs stand on: datasets of one and of two node types, and a loader whose
// epochs are repacked.
#pragma once

#include "loader_support.h"
#include "prep/generate/hetero.h"
#include "support/temp_dir.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

inline constexpr std::uint64_t kWholeTable = 32 << 20;  ///< of window bytes: all rows fit

/// A table of 10 MB or half of that.
inline SampleOptions planned_table(std::uint64_t nodes = sanitized<std::uint64_t>(40'000, 20'000)) {
  SampleOptions sample;
  sample.nodes = nodes;
  sample.edges = 4 * sample.nodes;
  sample.dim = 64;
  return sample;
}

inline Setup planned_setup(const TempDir& scratch, std::uint64_t window_bytes) {
  Setup setup;
  setup.loader = base_options();
  setup.loader.batch_size = sanitized(128, 64);
  setup.loader.data_threads = 2;
  setup.loader.window = 8;
  setup.plan = PlanChoice::kRepack;
  setup.window_bytes = window_bytes;
  setup.scratch = scratch.path().string();
  return setup;
}

/// Papers and as many authors, both with features.
inline void write_papers(const std::filesystem::path& path, std::int64_t papers) {
  MemoryLedger ledger;
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  HeteroGenerator::Options options;
  options.papers = papers;
  options.authors = options.papers;
  options.cites = 4 * options.papers;
  options.writes = 4 * options.papers;
  options.author_features = 64;
  options.node_options.features = 64;
  options.node_options.train = 0.4;
  DatasetWriter writer(path, Overwrite::kRefuse, nullptr);
  HeteroGenerator(options).generate(writer, context);
  writer.commit("test");
}

/// That follow each other.
inline constexpr std::uint64_t kEpochs = sanitized(4, 3);
/// A table of 5 MB, for them.
inline SampleOptions following_table() {
  return planned_table(20'000);
}
/// Window bytes, of that table.
inline constexpr std::uint64_t kSmallWindows = 9 << 19;

inline Setup following(const TempDir& dir) {
  Setup setup = planned_setup(dir, kSmallWindows);
  setup.loader.batch_size = 64;
  return setup;
}

inline Run deliver_epoch(Loader& loader, const LoaderStart& where) {
  Run run;
  loader.start(where);
  while (loader.next()) run.chain.push_back(loader.stats().batches_xxh3);
  run.stats = loader.stats();
  return run;
}

inline std::vector<Run> deliver_epochs(const std::filesystem::path& path, const Setup& setup) {
  std::vector<Run> runs;
  with_loader(path, setup, [&](Loader& loader) {
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch)
      runs.push_back(deliver_epoch(loader, {.epoch = epoch, .next_follows = epoch + 1 < kEpochs}));
  });
  return runs;
}

inline std::vector<Run> in_memory(const std::filesystem::path& path, Setup setup) {
  setup.features = Placement::kMemory;
  return deliver_epochs(path, setup);
}

/// Whether all of an epoch was planned beside the one before.
inline bool prepared(const LoaderStats& stats) {
  return !stats.plans.empty() && std::ranges::all_of(stats.plans, [](const std::string& plan) {
    return plan.find("beside the epoch before") == 0;
  });
}

}  // namespace sluice::test
