// The generated graph that end-to-end runs train on: made once in a folder, found there again.
#pragma once

#include "bench/end_to_end/sizes.h"

#include <cstdint>
#include <filesystem>

namespace sluice::bench {

struct BenchGraph {
  std::filesystem::path path;
  std::uint64_t table_bytes = 0;  ///< of the features as they lie on disk
  std::uint64_t data_bytes = 0;   ///< features and topology

  std::filesystem::path features() const { return path / "nodes/node/features.bin"; }
};

/// Makes the graph below `folder` unless one of the same sizes is there. Throws Error.
BenchGraph make_graph(const std::filesystem::path& folder, const Sizes& sizes);

}  // namespace sluice::bench
