// What an epoch of training would take, before it is run: seconds by a few timed steps and by what
// the disk would move. An estimate, which --dry-run prints.
#pragma once

#include "storage/io/disk_profile.h"
#include "train/parts.h"

#include <sluice/loader_forecast.h>

#include <cstdint>

namespace sluice {

/// Of one mini-batch, as the first one took.
struct BatchTimes {
  double sample = 0;        ///< seconds
  double step = 0;          ///< forward, backward, optimiser; learned rows in memory among it
  std::uint64_t steps = 0;  ///< that were timed
};

struct EpochEstimate {
  std::uint64_t batches = 0;
  BatchTimes timed;
  double step_seconds = 0, sample_seconds = 0, disk_seconds = 0;  ///< of the epoch, each by itself
  /// The longest of the three; sampling and steps add up where they take turns.
  double seconds = 0;
  std::uint64_t bytes_read = 0, bytes_written = 0;
  std::uint64_t disk_bytes =
      0;  ///< that the whole run takes at the most: rows, checkpoints, scratch, edge buckets
};

/// Tries some steps with the first mini-batch. Weights and learned rows in memory are not
/// afterwards what they were: for parts that no run is made of. Before epochs are planned. Throws
/// Error.
BatchTimes time_batches(Parts& parts);

/// @param loader what its epoch would ask of the disk @param disk null: it could not be measured,
/// and counts for nothing
EpochEstimate estimate_epoch(const Parts& parts,
                             const BatchTimes& timed,
                             const LoaderForecast& loader,
                             const DiskProfile* disk);

}  // namespace sluice
