// One step of training and one of evaluation, done for their memory and then undone.
#pragma once

#include "train/parts.h"

#include <sluice/batch.h>

#include <cstdint>

namespace sluice {

struct TrialPeaks {
  std::uint64_t resident = 0;     ///< tensors that stay: parameters, buffers, optimiser state
  std::uint64_t training = 0;     ///< most that a training step held beside them
  std::uint64_t evaluation = 0;   ///< most that an evaluation step held beside them
  std::uint64_t device_pool = 0;  ///< most that LibTorch's pool on a GPU held
};

/// Measures steps on the given batches (either may be null) by what the ledger charged as
/// "tensors". Parameters, buffers, gradients and optimiser state are afterwards what they were.
TrialPeaks try_steps(Parts& parts, const Batch* training, const Batch* evaluation);

}  // namespace sluice
