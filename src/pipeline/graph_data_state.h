// What GraphData holds; for the pipeline's own files.
#pragma once

#include "samplers/sampler.h"

#include <sluice/loader.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice {

struct GraphData::State {
  const Dataset* dataset = nullptr;
  GraphDataOptions options;
  std::size_t target_type = 0;
  SamplerGraph graph;
  std::vector<std::unique_ptr<FeatureStore>> features;  // by node type; null for a type without
  Array labels;  // of the target type; empty when it has none
};

}  // namespace sluice
