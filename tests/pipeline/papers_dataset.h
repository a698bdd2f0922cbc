// A dataset of two node types, for tests of the pipeline.
#pragma once

#include "prep/generate/hetero.h"

#include <cstdint>
#include <filesystem>

namespace sluice::test {

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
