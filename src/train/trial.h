// One step of training or of evaluation, done for its memory and then undone.
#pragma once

#include "train/parts.h"

#include <sluice/batch.h>

#include <cstdint>

namespace sluice {

/// Bytes, by LedgerAllocation's peak, which is that of all times: so evaluation goes first. It
/// keeps nothing for a backward pass, and the peak of training shows above it; where it does not,
/// the evaluation's is the one that counts.
struct TrialPeaks {
  std::uint64_t step = 0;  ///< most that the step held beside parameters, buffers, optimiser state
  std::uint64_t device_pool = 0;  ///< most that LibTorch's pool on a GPU held
};

/// Parameters, buffers, gradients and optimiser state are afterwards what they were.
TrialPeaks try_training(Parts& parts, const Batch& batch);
TrialPeaks try_evaluation(Parts& parts, const Batch& batch);

}  // namespace sluice
