// What a run's model reads and keeps beside its weights, before any of it is made: what the
// placement of features and rows goes by.
#pragma once

#include "core/feature_groups.h"
#include "train/options.h"

#include <sluice/graph_schema.h>

#include <cstdint>

namespace sluice {

struct ModelWants {
  FeatureGroups features;          ///< tables that mini-batches have, of nodes and of edges
  std::int64_t state_columns = 0;  ///< floats of a node's row of state; 0: it remembers nothing
};

/// Makes the model without its weights; where that cannot be done, a type's first group of features
/// and no state: whoever builds the model says what is wrong.
ModelWants wants_of_model(const RunOptions& options, const GraphSchema& schema);

}  // namespace sluice
