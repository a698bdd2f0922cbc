// A run that is done, opened to go over all nodes layer by layer, and its evaluation by that.
#pragma once

#include "train/evaluation.h"
#include "train/opened_run.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// As open_run(), on the CPU, but the budget is split by nobody: features and edges are kept where
/// half of it is left, and passes take what the ledger has. Opened::run has no plan.
/// Throws kResource where not even that is there.
std::unique_ptr<Opened> open_for_layers(const std::string& directory,
                                        const std::vector<std::string>& sets,
                                        const EvaluateOptions& wanted,
                                        const TrainContext& context,
                                        void (*check)(Parts&, Part),
                                        AskedFor asked = AskedFor::kOutputs);

/// Metrics over a part, of rows that all nodes' full neighbourhoods give, among all nodes where the
/// task ranks by them. The run's model gives way to these rows meanwhile, and no loader may be
/// alive. Scratch is in the run's directory. Throws Error.
/// @param batches_xxh3 the chain that the delivered batches go on from
Evaluation evaluate_by_layer(
    Parts& parts, Part part, std::uint64_t batches_xxh3, ProgressStyle progress, Logger& log);

}  // namespace sluice
