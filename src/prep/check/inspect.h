// inspect: what a dataset holds and how large it is, for people and as JSON-ready figures.
#pragma once

#include "prep/check/hotness.h"
#include "prep/prep_context.h"
#include "storage/format/manifest.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct RelationFigures {
  std::string key;
  std::uint64_t edges = 0;
  double mean_in_degree = 0;
  std::uint64_t max_in_degree = 0;
  std::uint64_t max_in_degree_node = 0;
  std::uint64_t isolated_targets = 0;
  /// Bucket 0 counts targets without in-edges; bucket i those with an in-degree in [2^(i-1), 2^i).
  std::vector<std::uint64_t> degree_histogram;
};

struct InspectReport {
  Manifest manifest;
  std::uint64_t bytes = 0;  ///< data files, checksum files not counted
  std::vector<RelationFigures> relations;
  std::vector<Hotness> hotness;  ///< a node type each, when asked for
};

enum class Hot { kSkip, kMeasure };

/// Throws Error(kData) for a directory that is no dataset or whose offsets do not ascend.
/// kMeasure streams all neighbours besides.
InspectReport inspect_dataset(const std::string& path, PrepContext& context, Hot hot = Hot::kSkip);

/// The report as aligned text.
std::string to_text(const InspectReport& report);

}  // namespace sluice
