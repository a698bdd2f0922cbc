// Evaluation: a model's metrics over a part of the split, and its predictions. Weights are not
// touched.
#pragma once

#include "core/progress.h"
#include "pipeline/stage_clock.h"
#include "train/checkpoint.h"
#include "train/parts.h"

#include <sluice/loader.h>

#include <cstdint>
#include <functional>
#include <string>

namespace sluice {

struct Evaluation {
  Metrics metrics;  ///< "valid.accuracy", ...
  LoaderStats stats;
  double seconds = 0;
};

/// The loader's next mini-batch; what it took is time that the steps were starved for. Throws as
/// the loader does.
std::shared_ptr<const Batch> next_batch(Loader& loader, StageClock& steps);

/// Runs the model over a part and sums up its metrics under the part's name. Throws kInterrupted
/// once a signal came.
/// @param batches_xxh3 the chain that the delivered batches go on from
Evaluation evaluate(Parts& parts,
                    Part part,
                    const LoaderMemory& memory,
                    std::uint64_t batches_xxh3,
                    ProgressStyle progress);

/// Runs the model over a part and hands over each mini-batch with its outputs, in order, on the
/// host; of a batch that went to a card, seeds and labels. Of the stages, "step" is this. Throws
/// kInterrupted.
LoaderStats for_each_output(
    Parts& parts,
    Part part,
    const LoaderMemory& memory,
    std::uint64_t batches_xxh3,
    ProgressStyle progress,
    const std::function<void(const torch::Tensor& outputs, const Batch& batch)>& take);

}  // namespace sluice
