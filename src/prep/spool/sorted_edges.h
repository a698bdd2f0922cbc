// sort_edges: a spool's edges by a key (their time, their type), stable: equal keys stay in input
// order. An external merge sort: runs as large as memory allows, then one merge of all of them.
#pragma once

#include "prep/prep_context.h"
#include "prep/spool/edge_spool.h"

#include <cstdint>
#include <filesystem>

namespace sluice {

/// The edges of `spool` in ascending order of their keys, under their ids.
/// @param keys i64 by edge id
/// @param memory_bytes for all of it
EdgeSpool sort_edges(const EdgeSpool& spool,
                     const ScratchBytes& keys,
                     const std::filesystem::path& folder,
                     std::uint64_t memory_bytes,
                     PrepContext& context);

}  // namespace sluice
