// verify: reads every byte of a dataset and checks it: sizes, checksums of pages and blocks, and
// that the graph makes sense (offsets ascend, ids are below their counts, splits are disjoint). In
// bounded memory, in parallel.
#pragma once

#include "prep/prep_context.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct VerifyReport {
  GraphSchema schema;
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;            ///< read
  std::vector<std::string> problems;  ///< one line each, naming the file; empty for a sound dataset
  std::vector<std::string> strangers;  ///< files in the directory that the manifest does not know
};

/// Throws Error when the dataset cannot be read at all (no manifest, or a damaged one).
VerifyReport verify_dataset(const std::string& path, PrepContext& context);

}  // namespace sluice
