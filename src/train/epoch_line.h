// What is said of an epoch: a line of metrics.jsonl and a line of the log.
#pragma once

#include "train/checkpoint.h"

#include <cstdint>
#include <optional>
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
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_useful = 0;
  RowFigures rows;                             ///< of the part of the epoch that this session did
  std::optional<PartitionFigures> partitions;  ///< likewise, where rows are trained by partitions
  RunCounters counters;                        ///< of the part of the epoch that this session did
  std::string bound;
  std::uint64_t generation = 0;  ///< of the dataset
};

/// What an epoch of so many seconds waited for: when the stage "step" was seldom starved,
/// "compute", or "disk" where steps themselves waited long for rows of tables there; else what the
/// others worked at most: "disk" (fetch, repack) or "sample" (sample, plan, assemble).
/// @param rows_waited seconds that steps waited for learned or remembered rows
std::string bound_of(const std::vector<StageTimes>& stages, double seconds, double rows_waited);

/// A metric to four places; "none" for one that is no figure.
std::string figure_text(double value);

std::string to_json_line(const EpochLine& line);
std::string to_text(const EpochLine& line);

}  // namespace sluice
