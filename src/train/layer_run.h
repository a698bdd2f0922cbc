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
                                        void (*check)(Parts&, Part));

/// Metrics over a part, of rows that all nodes' full neighbourhoods give. The run's model gives way
/// to these rows. Scratch is in the run's directory. Throws Error.
Evaluation evaluate_by_layer(Opened& opened, Part part, const TrainContext& context);

}  // namespace sluice
