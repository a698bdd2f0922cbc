// What is said of an epoch: a line of metrics.jsonl and a line of the log.
#pragma once

#include "train/checkpoint.h"

#include <sluice/loader.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct EpochLine {
  std::uint64_t epoch = 0;
  std::uint64_t epochs = 0;
  Metrics metrics;    ///< "train.loss", "valid.accuracy", ...
  std::string shown;  ///< the one that the log shows beside the loss
  bool best = false;
  double seconds = 0;
  double seeds_per_second = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_useful = 0;
  std::uint64_t requests = 0;
  std::vector<StageTimes> stages;
  std::string bound;
};

/// What an epoch waited for: "compute" when the trainer seldom waited for a batch, else the stage
/// that worked most: "disk" (reading rows) or "sample" (sampling and assembling). @param starved
/// seconds that the trainer waited
std::string bound_of(const std::vector<StageTimes>& stages, double seconds, double starved);

std::string to_json_line(const EpochLine& line);
std::string to_text(const EpochLine& line);

}  // namespace sluice
