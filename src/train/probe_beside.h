// What a report sets beside the figures of a linear probe: accuracy by structural group of the
// tested nodes, and floors, rows that nobody learned, by the same probe.
#pragma once

#include "core/log.h"
#include "probe/probe_run.h"
#include "train/parts.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace sluice {

/// What of a task's probe is measured again.
struct ProbeBeside {
  probe::ProbedNodes probed;  ///< by numbers of nodes
  probe::LinearProbeOptions linear;
  probe::Floors floors = probe::Floors::kNone;
};

/// Within what is free of the run's ledger, by the run's seed: a function of dataset, options and
/// outcomes. Floors that do not fit are left out, or that the features are no rows for; then groups
/// too, and a line of the log says why. Throws kInterrupted.
std::optional<probe::BesideReport> measure_beside(Parts& parts,
                                                  const ProbeBeside& wanted,
                                                  Logger& log);

/// "degree" and "distance": a list of groups each. What is no figure is null.
nlohmann::ordered_json to_json(const probe::NodeGroups& groups);
/// "groups", and a list of "floors".
nlohmann::ordered_json to_json(const probe::BesideReport& beside);
/// A line each of a report.
std::string to_text(const probe::BesideReport& beside);

}  // namespace sluice
