// Evaluation: a model's metrics over a part of the split, and its predictions. Weights are not
// touched.
#pragma once

#include "core/log.h"
#include "core/progress.h"
#include "pipeline/stage_clock.h"
#include "probe/probe_run.h"
#include "train/checkpoint.h"
#include "train/parts.h"

#include <sluice/loader.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sluice {

/// Outputs that are NaN or infinite.
struct NotFinite {
  std::uint64_t rows = 0;
  std::optional<std::uint64_t> first;  ///< node

  /// "outputs of 1 of 500 valid nodes are not finite, first of node 17"; the node by the user's id.
  std::string text(const Parts& parts, Part part) const;
};

/// What to do about values that are not finite: the hint of errors and warnings.
extern const char* const kMendNotFinite;

/// Which of a batch's nodes have features that are not finite: the first, by the user's id; empty
/// where all are finite.
std::string node_of_bad_features(const Parts& parts, const Batch& batch);

struct Evaluation {
  Metrics metrics;  ///< "valid.accuracy", ...
  LoaderStats stats;
  double seconds = 0;                         ///< without what is measured beside
  std::optional<probe::BesideReport> beside;  ///< a test's, of embeddings that were probed
};

/// The loader's next mini-batch; what it took is time that the steps were starved for. Throws as
/// the loader does.
std::shared_ptr<const Batch> next_batch(Loader& loader, StageClock& steps);

/// What a part of the split is measured by.
std::unique_ptr<MetricAccumulator> metrics_of(const Parts& parts, Part part);

/// What was measured of a part: "valid.accuracy", ...
Metrics part_metrics(Part part, const MetricAccumulator& sums);

/// Runs the model over a part and sums up its metrics under the part's name. Warns of outputs that
/// are not finite, and runs nothing where no node has a label: metrics are NaN then. Throws
/// kInterrupted once a signal came.
/// @param batches_xxh3 the chain that the delivered batches go on from
Evaluation evaluate(Parts& parts,
                    Part part,
                    const LoaderMemory& memory,
                    std::uint64_t batches_xxh3,
                    ProgressStyle progress,
                    Logger& log);

/// Goes through the mini-batches of a part, in order, with the model and its rows ready for each.
/// Throws kInterrupted. @return what the loader counted
LoaderStats for_each_batch(Parts& parts,
                           Part part,
                           const LoaderMemory& memory,
                           std::uint64_t batches_xxh3,
                           ProgressStyle progress,
                           const std::function<void(const Batch& batch)>& take);

/// Shows rows of state a part, in order, as they stand; figures are not looked at. Throws as above.
void remember_part(Parts& parts, Part part, const LoaderMemory& memory, ProgressStyle progress);

struct Forwarded {
  LoaderStats stats;  ///< of the stages, "step" is the model
  NotFinite not_finite;
};

/// Runs the model over a part and hands over each mini-batch with its outputs, in order, on the
/// host; of a batch that went to a GPU, seeds, queries and labels. Throws kInterrupted.
/// @param take `finite`: u8 [batch.num_queries()], 0 where an output is not finite
Forwarded for_each_output(
    Parts& parts,
    Part part,
    const LoaderMemory& memory,
    std::uint64_t batches_xxh3,
    ProgressStyle progress,
    const std::function<
        void(const torch::Tensor& outputs, const Array& finite, const Batch& batch)>& take);

}  // namespace sluice
