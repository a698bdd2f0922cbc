// Runs that go on from another over what was appended to their dataset: what of it is new, which
// weights they begin with, which old queries they ask again. docs/continual.md.
//
// Used by one thread. Throws Error.
#pragma once

#include "core/log.h"
#include "train/continual_report.h"
#include "train/parts.h"

#include <sluice/query.h>
#include <sluice/tasks/continual_task.h>

#include <filesystem>
#include <memory>

namespace sluice {

/// Tells the task which of its data is new, where [continual] says so: before Task::open(). Throws
/// kUsage for a task that cannot be told, and for [replay] of a run that is about all data.
void divide_task(const RunOptions& options, Task& task);

/// A task as one that can be told. Throws kUsage where it cannot.
ContinualTask& as_continual(const RunOptions& options, Task& task);

/// Throws kUsage where a run cannot begin with the weights of another: before anything is written.
void check_continual(const Parts& parts);

/// The run's task. @pre options.continual.any()
ContinualTask& continual_task(const Parts& parts);

/// New queries of training, in turns with old ones where [replay] chooses some; parts.replay is
/// made where it is not there. Throws kUsage where model or sampler do not allow it.
std::unique_ptr<QuerySource> with_replay(Parts& parts,
                                         const QueryRequest& request,
                                         std::unique_ptr<QuerySource> fresh);

/// The share of the loss that old queries have in a step, and new ones the rest. 0 without replay.
double share_of_old(const Parts& parts);

/// Puts the weights of [continual] from into the parts, where it is set, and opens rows in `rows`:
/// copies of that run's where some are learned. Throws kUsage for another model or task.
/// @pre check_continual()
void start_from(Parts& parts, const std::filesystem::path& rows);

/// What is known before anything is measured. @pre options.continual.any()
ContinualReport begin_continual(const Parts& parts);
/// Says it to the log: nothing where the run does not go on.
void say_continual(const Parts& parts, Logger& log);

}  // namespace sluice
