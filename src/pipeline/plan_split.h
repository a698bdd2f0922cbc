// Whether an epoch is planned in two parts, the second beside training.
#pragma once

#include "pipeline/graph_data_state.h"
#include "pipeline/window_sampler.h"
#include "pipeline/window_source.h"

#include <cstdint>
#include <vector>

namespace sluice {

struct PlanSplitSetup {
  std::uint64_t batches = 0;         ///< of the epoch, from where it begins
  std::uint64_t batch_bytes = 0;     ///< of a sampled mini-batch
  WindowLimits limits;               ///< of windows
  std::vector<std::uint64_t> slots;  ///< of the caches, by node type; 0: none
  std::uint64_t room = 0;            ///< free while the epoch is planned
  std::uint64_t held = 0;            ///< of the caches' rows, besides that
};

struct PlanSplit {
  std::uint64_t first_part = 0;       ///< mini-batches that are planned first; 0: all at once
  std::uint64_t beside_sampling = 0;  ///< bytes for that, while the others are sampled
};

/// Where packing has to pass over the tables once more for a second part, that must not take longer
/// than what training need not wait for; and planning must have memory for a part while the rest is
/// sampled.
PlanSplit split_plan(const GraphData::State& data,
                     const WindowSampler& sampler,
                     const PlanSplitSetup& setup);

}  // namespace sluice
