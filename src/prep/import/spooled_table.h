// SpooledTable: a table of edges that was read once, under dense ids, with what stands beside its
// edges. What needs the ids counted, or the edges in another order, begins here. Private to
// src/prep/import.
#pragma once

#include "prep/import/import_context.h"
#include "prep/spool/edge_spool.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// By edge id, that is by row of the table, those that were left out included.
struct SpooledTable {
  EdgeSpool edges;
  std::optional<ScratchBytes> times;    ///< i64
  std::optional<ScratchBytes> weights;  ///< f32
  std::optional<ScratchBytes> types;    ///< i64: the type's place in type_names
  std::optional<ScratchBytes> labels;   ///< i64
  std::vector<std::string> type_names;
  std::vector<std::uint64_t> type_counts;  ///< edges of each, those left out not counted
  std::uint64_t rows = 0;
  std::uint64_t skipped = 0;  ///< rows of ids that are not there
  bool in_time_order = true;
};

/// What was spooled, by the places of the [[edges]] and [[splits]] in the spec. Null: a table that
/// can be streamed as it is; a split without edges, or a part without a file.
struct SpooledTables {
  std::vector<std::unique_ptr<SpooledTable>> edges;
  std::vector<std::array<std::unique_ptr<SpooledTable>, 3>> splits;  ///< train, valid, test
};

/// Reads the tables of edges that name nodes which nobody has counted yet, those with columns
/// beside their edges, and splits of edges. Afterwards all types are counted.
SpooledTables spool_edges(ImportContext& context);

/// The [[edges]] whose edges a split of edges has.
const EdgeSpec& edges_of_split(const GraphSpec& spec, const SplitSpec& split);

/// Memory that a spool may keep, of what is left: the conversion and other spools need theirs.
std::uint64_t spool_memory(const ImportContext& context);

}  // namespace sluice
