// What a layer's targets get of their neighbours where that is made column by column: a mean or a
// maximum over each list of in-edges, written as a table of its own a relation.
//
// The rows of a source type are in memory a panel of columns at a time, and each relation's lists
// go by once a panel: a row is read once a layer and panel, whatever the number of relations. A
// list is summed in its order, by one thread: neither the panel nor the number of threads changes a
// bit.
#pragma once

#include "storage/feature/panel_table.h"

#include <sluice/memory.h>
#include <sluice/models/layerwise.h>
#include <sluice/threads.h>
#include <sluice/topology.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// A relation whose lists go by.
struct ListedRelation {
  Topology* topology = nullptr;
  Gathering gathering = Gathering::kMean;  ///< not kEdges
  /// Of kScaledMean, by source: f32, what its row is multiplied by.
  std::span<const float> scales = {};
};

struct ListRowsPlace {
  std::filesystem::path scratch;  ///< a folder
  ThreadArena* threads;
  MemoryLedger* ledger;
  std::function<void(std::uint64_t edges)> went_by;  ///< for progress
};

/// One table a relation, [targets, columns of `sources`], by the same panels; 0 where a list is
/// empty. Throws Error: kInterrupted, kResource, kIo. @param sources of f32
std::vector<std::unique_ptr<PanelTable>> make_list_rows(const PanelTable& sources,
                                                        std::span<const ListedRelation> relations,
                                                        const ListRowsPlace& place);

}  // namespace sluice
