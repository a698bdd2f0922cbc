// What a run takes, measured before it starts: a few mini-batches are sampled, and a step of
// training and one of evaluation are tried with the first of them.
#pragma once

#include "budget/memory_plan.h"
#include "train/parts.h"

#include <cstdint>
#include <memory>

namespace sluice {

/// What a run is going to do.
struct Work {
  enum class Kind { kTrain, kEvaluate };
  Kind kind = Kind::kTrain;
  Part evaluated = Part::kValid;
  std::uint64_t trace_bytes = 0;  ///< of the buffer of a trace, where one is written
  AskedFor asked = AskedFor::kOutputs;
};

/// The first mini-batch of a loader's epoch, with as little as can be going on: no rows are read
/// where there is no room for windows of them. The loader is to be used for nothing else.
std::shared_ptr<const Batch> first_batch(Loader& loader, const MemoryPhases& phases);

/// Measures parts that were just built: loads nothing, leaves model and optimiser as they were.
/// Throws Error.
MemoryNeeds measure_needs(Parts& parts, const Work& work);

}  // namespace sluice
