// What tests of planned epochs stand on: datasets of one and of two node types, and a loader whose
// epochs are repacked.
#pragma once

#include "loader_support.h"
#include "prep/generate/hetero.h"

#include <cstdint>
#include <filesystem>

namespace sluice::test {

inline constexpr std::uint64_t kWholeTable = 32 << 20;  ///< of window bytes: all rows fit

/// A table of 10 MB or half of that.
inline SampleOptions planned_table() {
  SampleOptions sample;
  sample.nodes = sanitized<std::uint64_t>(40'000, 20'000);
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

}  // namespace sluice::test
