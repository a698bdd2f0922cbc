// append: new nodes and edges of an existing dataset, as a new generation. Edges go to a log beside
// the CSC files, which `compact` folds in; of types that grow, the files are written anew; all else
// is taken over as it is, without a copy. And compact.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/prep_context.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

struct UpdateReport {
  std::uint64_t generation = 0;  ///< of the dataset now
  std::uint64_t nodes = 0;       ///< appended
  std::uint64_t edges = 0;       ///< appended, or folded in; an undirected one counts twice
  std::uint64_t bytes = 0;       ///< of data files
};

/// Appends what `spec` describes: [[nodes]], whose files hold the new nodes alone (ids, features as
/// the old ones have, labels or none), and [[edges]] between old and new nodes. The dataset is
/// replaced in one step; a failure, or a kill, leaves what was there. Throws Error.
/// @param root folder of the files: resolve_root()
UpdateReport append_to_dataset(const std::filesystem::path& dataset,
                               GraphSpec spec,
                               const TableFormats& formats,
                               const std::filesystem::path& root,
                               const std::string& created_by,
                               PrepContext& context);

/// Folds all logs into the CSC files. The result is that of preparing base and appended edges in
/// one go, but that a node's out-edges (CSR) among the base's come in the order of their targets.
/// Replaced in one step, as above.
UpdateReport compact_dataset(const std::filesystem::path& dataset,
                             const std::string& created_by,
                             PrepContext& context);

}  // namespace sluice
