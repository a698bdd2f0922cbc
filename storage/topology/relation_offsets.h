// RelationOffsets: where the in-edges of a relation's targets are, in memory, in the layout that it
// has on disk. Used while a relation is loaded, and kept by what holds it in memory.
#pragma once

#include "storage/topology/merged_order.h"
#include "storage/topology/node_list.h"

#include <sluice/array.h>
#include <sluice/dataset.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace sluice {

struct RelationOffsets {
  Array offsets;    ///< u64 [targets + 1], or [listed targets + 1]
  NodeList listed;  ///< in use where few targets have in-edges

  std::span<const std::uint64_t> values() const { return offsets.as<std::uint64_t>(); }

  /// Errors: kData where they do not ascend from 0 to the edge count, and of listed targets as
  /// NodeList says; load_array()'s. Charged as "topology". @param ahead as FileReading::ahead
  static Result<RelationOffsets> load(const std::filesystem::path& root,
                                      const Manifest& manifest,
                                      const RelationSchema& relation,
                                      const DatasetOptions& options,
                                      std::optional<IoChoice> ahead = std::nullopt);

  /// Those of the merged lists; targets that only the log has are listed with the others.
  /// @pre `order` is of `source`, which is of these offsets. Errors: kResource
  Result<RelationOffsets> merged(const MergedOrder& order,
                                 const MergedOrder::Source& source,
                                 MemoryLedger* ledger) const;
};

}  // namespace sluice
