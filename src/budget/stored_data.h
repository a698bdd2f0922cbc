// How a loader's data is opened, as far as storage options, the split of memory and the sampler say
// it: the same for a run and for a loader by itself.
#pragma once

#include "budget/memory_phases.h"
#include "budget/relation_places.h"
#include "budget/storage_section.h"
#include "core/feature_groups.h"

#include <sluice/dataset.h>
#include <sluice/graph_schema.h>
#include <sluice/loader.h>
#include <sluice/sampler.h>

#include <cstdint>

namespace sluice {

struct StoredData {
  Placement features = Placement::kDisk;
  Placement topology = Placement::kMemory;
  MemoryPhases phases = {};
  std::uint64_t budget = 0;  ///< bytes of the whole
  FeatureGroups groups = {};
  RelationPlaces relations = {};
};

/// Left to the caller: edge rules and the device.
GraphDataOptions stored_data_options(const StoredData& data,
                                     const GraphSchema& schema,
                                     const StorageSection& storage,
                                     const SamplerMethod& sampler);

}  // namespace sluice
