// What a probe reads of a dataset: features, labels and split of one node type, as tensors.
//
// Whole, in memory: tensors, which a LedgerAllocation charges where one is installed.
#pragma once

#include "probe/probe.h"

#include <sluice/dataset.h>

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::probe {

/// The type that is meant: `wanted`, or the only one with labels, or the only one. Throws kUsage.
std::string probed_type(const GraphSchema& schema, const std::string& wanted);

struct NodeLabels {
  torch::Tensor values;      ///< as linear_probe() takes them
  std::int64_t classes = 0;  ///< of the schema
};

/// Throws kUsage where the type has no labels, or its labels are no classes.
NodeLabels read_labels(const Dataset& dataset, std::string_view node_type);

/// Throws kUsage where there is no such split, or it is of another type.
NodeParts read_parts(const Dataset& dataset, std::string_view node_type, const std::string& split);

/// f32 [n, d]. Throws kUsage where the type has no features.
torch::Tensor read_features(const Dataset& dataset, std::string_view node_type);

}  // namespace sluice::probe
