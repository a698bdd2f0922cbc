// A run that is done, opened again to be looked at: its options as they were kept, its parts within
// its budget, its stored weights.
#pragma once

#include "train/asked_events.h"
#include "train/commands.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// A run's model with its stored weights, opened within the budget. Only reads: a run that trains
/// meanwhile replaces its checkpoints whole.
struct Opened {
  RunOptions options;
  PlannedRun run;
  RunState state;
};

/// The options that a run directory keeps, with changes. Throws Error.
RunOptions kept_options(const std::string& directory,
                        const std::vector<std::string>& sets,
                        const TrainRegistry& registry);

/// @param check of the part that is wanted @param asked what the task will be asked for
std::unique_ptr<Opened> open_run(const std::string& directory,
                                 const std::vector<std::string>& sets,
                                 const EvaluateOptions& wanted,
                                 const TrainContext& context,
                                 void (*check)(Parts&, Part),
                                 AskedFor asked = AskedFor::kOutputs);

/// Sets Parts::asked_events, where a file of events is wanted. Throws kUsage for tasks that ask
/// about none; what read_asked_events throws.
void ask_about_file(Parts& parts, const EvaluateOptions& wanted, AskedTargets targets);

/// What a trace of the session takes of the budget.
std::uint64_t trace_bytes(const TrainContext& context);

}  // namespace sluice
