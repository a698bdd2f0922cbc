// append: new edges of an existing dataset, as a new generation. They go to a log beside the CSC
// files, which `compact` folds in; all else is taken over as it is, without a copy. And compact.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/prep_context.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

struct UpdateReport {
  std::uint64_t generation = 0;  ///< of the dataset now
  std::uint64_t edges = 0;       ///< appended, or folded in; an undirected one counts twice
  std::uint64_t bytes = 0;       ///< of data files
};

/// Appends what `spec` describes: its [[edges]], between nodes that are there. The dataset is
/// replaced in one step; a failure, or a kill, leaves what was there. Throws Error.
/// @param root folder of the files: resolve_root()
UpdateReport append_edges(const std::filesystem::path& dataset,
                          GraphSpec spec,
                          const TableFormats& formats,
                          const std::filesystem::path& root,
                          const std::string& created_by,
                          PrepContext& context);

/// Folds all logs into the CSC files. The result is that of preparing base and appended edges in
/// one go. Replaced in one step, as above.
UpdateReport compact_dataset(const std::filesystem::path& dataset,
                             const std::string& created_by,
                             PrepContext& context);

}  // namespace sluice
