// Where features and edges may be kept within a budget, best first.
#pragma once

#include "budget/memory_phases.h"
#include "budget/relation_places.h"
#include "budget/storage_section.h"
#include "core/feature_groups.h"

#include <sluice/dataset.h>
#include <sluice/graph_schema.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// Where a kind of data is kept, and why.
struct Kept {
  Placement where = Placement::kMemory;
  std::string why;
};

struct Places {
  Kept features;
  Kept topology;                  ///< on disk where edges of some relations are
  Kept embeddings = {};           ///< rows that are learned
  RelationPlaces relations = {};  ///< where some relations' edges are in memory and others' on disk
};

/// Places to try, and how sampling and steps share the rest.
struct PlaceChoice {
  Places places;
  MemoryPhases phases = {};
};

enum class Turns { kNever, kMay };

/// Whether a loader with a scratch folder plans its epochs, so that sampling and steps can take
/// turns in memory.
bool epochs_may_be_planned(const StorageSection& storage);

/// The placements to try, best first: rather features on disk than edges, as a row is read once for
/// a mini-batch and edges are looked up for each node, and rather both than learned rows, which are
/// written too. Edges that are not all in memory are there by relation, as far as these fit into
/// half of the budget, or into a quarter (relations_to_keep()). Where nothing else works, and they
/// may, sampling and steps take turns. Throws kUsage where `storage` names a relation that is none.
/// @param groups the features that will be read
/// @param learned where rows are to be that are learned
/// @param learned_bytes of them, with what their optimiser keeps; 0: there are none
std::vector<PlaceChoice> place_choices(const StorageSection& storage,
                                       const GraphSchema& schema,
                                       const FeatureGroups& groups,
                                       std::uint64_t budget,
                                       Turns turns,
                                       Keep learned = Keep::kAuto,
                                       std::uint64_t learned_bytes = 0);

}  // namespace sluice
