// Train, valid and test ids of a node type: drawn by ratio and seed, or checked as given; written
// to splits/<name>/.
#pragma once

#include "storage/format/dataset_writer.h"

#include <sluice/random.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct SplitIds {
  std::vector<std::uint64_t> train, valid, test;
};

/// Draws parts of `candidates` (shuffled by `key`, then cut by `ratios`, which sum to at most 1);
/// each part sorted. An empty candidate list, or a part with a ratio above 0 that gets no node, is
/// a kData error.
SplitIds draw_split(std::vector<std::uint64_t> candidates,
                    const std::array<double, 3>& ratios,
                    RandomKey key);

/// Checks a split (ids below `count`, no id twice, no id in two parts, train not empty) and writes
/// each part as ascending u64 ids. Throws Error(kData) naming split, part and id. The ids' own
/// memory is the caller's to charge.
/// @param what the ids are of: "node", "graph"
/// @return the split's schema, without a node type: the caller's to add
SplitSchema write_split(DatasetWriter& writer,
                        const std::string& name,
                        const std::string& what,
                        std::uint64_t count,
                        SplitIds ids);

}  // namespace sluice
