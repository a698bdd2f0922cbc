// Lists of the destinations that events are ranked among, written once, so that every model and
// every program ranks by the same: what `task.stored_negatives` reads.
#pragma once

#include "train/commands.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

struct NegativesReport {
  std::string out;
  std::uint64_t valid = 0, test = 0;  ///< events of the parts, a row each
  std::uint64_t columns = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

/// Writes valid.npy, test.npy and negatives.json into a new folder, which appears whole or not at
/// all: what a run of these options would rank events among, by its seed, split and `ranked`. No
/// model is made. Throws Error: kUsage for tasks that rank no events, and where `out` is there.
NegativesReport write_negatives(const RunOptions& options,
                                const std::string& created_by,
                                const std::filesystem::path& out,
                                const TrainContext& context);

}  // namespace sluice
