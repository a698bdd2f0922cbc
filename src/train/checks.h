// What is looked into before a run begins: whether there is something to learn from and to measure,
// and what the user would not expect of it.
#pragma once

#include "core/log.h"
#include "train/parts.h"

namespace sluice {

/// Task::has_labels().
bool has_labels(Parts& parts, Part part);

/// Throws kUsage where there is nothing to train on: no seeds or no labels of them; or nothing to
/// validate on although the options ask for it.
void check_trainable(Parts& parts);

/// Throws kUsage where a part is empty.
void check_not_empty(Parts& parts, Part part);
/// The same, and where none of its nodes has a label.
void check_measurable(Parts& parts, Part part);

/// Warns of parts that cannot be measured, and of batch norm over single rows.
void warn_of_run(Parts& parts, Logger& log);

/// Warns where what is made of a part depends on which links a mini-batch asks about: they are
/// hidden from it alone.
void warn_of_hidden_links(const Parts& parts, Part part, Logger& log);

/// The metric that picks the best epoch, as "valid.accuracy". Throws kUsage for one that the task
/// does not know, or does not measure in a validation.
std::string best_metric(const Parts& parts);
/// The same as the task names it, "accuracy", and without a look at whether it is known.
std::string chosen_metric(const Parts& parts);

}  // namespace sluice
