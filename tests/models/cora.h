// Cora's public split as one whole-graph batch, read straight from the .npy and .csv files.
#pragma once

#include "models/support.h"  // IWYU pragma: export

#include <optional>

namespace sluice::testing {

struct Cora {
  GraphSchema schema;
  Batch batch;                      ///< features by rows summing to 1; labels of training nodes
  Array valid_labels, test_labels;  ///< -1 elsewhere
};

/// Nothing when the files are not there: $SLUICE_DATA/cora, or ../shared/data/cora by the sources.
std::optional<Cora> read_cora();

}  // namespace sluice::testing
