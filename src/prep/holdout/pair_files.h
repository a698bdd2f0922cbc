// Pairs of nodes as CSV files, for programs that do not read datasets: source,target,label under
// the user's own ids, 1 for a link and 0 for none.
#pragma once

#include "prep/holdout/node_pairs.h"

#include <sluice/dataset.h>

#include <filesystem>
#include <span>

namespace sluice {

/// The ids of both ends. Borrowed.
struct PairIds {
  const ExternalIds& source;
  const ExternalIds& destination;
};

/// Writes a file, whole or not at all; its folder is made. Throws Error: kIo, kResource.
void write_pair_file(const std::filesystem::path& path,
                     const PairIds& ids,
                     std::span<const NodePair> links,
                     std::span<const NodePair> others);

}  // namespace sluice
