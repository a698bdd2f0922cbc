// The exact run that a run by partitions is set beside, by [embedding] exact_run: what it reached,
// read from its directory. The two are runs of their own: trained one after the other, each within
// the budget, by one config but for how training goes through learned rows.
#pragma once

#include "train/checkpoint.h"
#include "train/options.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

struct ExactRun {
  std::string run;  ///< its directory
  std::uint64_t epochs = 0;
  Metrics metrics;                ///< of its best epoch, and of the test part
  std::string ranked_among = {};  ///< RunReport::ranked_among of that run
};

/// The run that is named; nothing where none is. Throws kUsage where this run is not by partitions,
/// and where that one is gone or not done, is not exact, or had another config or dataset, be it
/// one that was in the same folder; kData where its report makes no sense or its checkpoint is
/// damaged.
std::optional<ExactRun> read_exact_run(const RunOptions& options);

/// Leaves figures of the test out where they are not of the same kind as this run's.
/// @param own this run's RunReport::ranked_among @return whether there were any
bool leave_out_unlike(ExactRun& exact, const std::string& own);

/// Its metrics, and this run's in parts of them.
/// @param own metrics of this run
nlohmann::ordered_json to_json(const ExactRun& exact, const Metrics& own);
/// A line of a report for each metric that both have.
std::string to_text(const ExactRun& exact, const Metrics& own);

}  // namespace sluice
