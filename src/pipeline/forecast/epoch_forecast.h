// EpochForecast: what an epoch would ask of the disk, from a few mini-batches of it.
// RowPopularity says how likely each row is asked for; windows are then drawn by these chances and
// go through a RowCache without rows, of the size and policy that a run's would have, and EpochCost
// prices what it misses. Where tables are large a sample of their rows stands for all (after
// SHARDS, Waldspurger et al. 2015), the cache scaled down with it.
//
// Memory: some 80 bytes a row of the sample, charged as "forecast" and "feature cache". One thread.
#pragma once

#include "pipeline/data/graph_data_state.h"
#include "pipeline/forecast/row_sample.h"
#include "pipeline/stream/window_sampler.h"

#include <sluice/loader.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

struct ForecastSetup {
  std::uint64_t batches = 0;         ///< of the epoch
  std::uint64_t window = 0;          ///< mini-batches as the options ask, or 0
  WindowLimits limits;               ///< of windows
  std::vector<std::uint64_t> slots;  ///< of the cache, by node type; 0: none
  bool planned = false;              ///< whether a plan would know all next uses
  std::uint64_t planning_bytes = 0;  ///< that it may take
  std::uint64_t planning_room = 0;   ///< free while it is made
};

class EpochForecast {
 public:
  static constexpr std::uint64_t kMostTrials = 64;  ///< more tell little more

  /// @param most_rows of each table to look at. Throws kResource.
  EpochForecast(const GraphData::State& data, std::uint64_t most_rows, MemoryLedger& ledger);
  ~EpochForecast();

  /// @pre at most kMostTrials
  void add(const Batch& batch);
  std::uint64_t trials() const { return trials_; }
  /// Of a mini-batch's blocks and row numbers, on average.
  std::uint64_t batch_bytes() const { return block_bytes_ / std::max<std::uint64_t>(trials_, 1); }

  /// Of a mini-batch that is kept on disk, on average.
  std::uint64_t kept_bytes() const { return kept_bytes_ / std::max<std::uint64_t>(trials_, 1); }

  /// Features alone; edges on disk are the caller's to add. @pre a trial or more. Throws kResource.
  LoaderForecast estimate(const ForecastSetup& setup) const;

 private:
  struct TypeModel;
  std::vector<std::uint64_t> window_ends(const ForecastSetup& setup,
                                         const std::vector<TypeModel>& models) const;
  void simulate(std::size_t type,
                const TypeModel& model,
                const ForecastSetup& setup,
                std::span<const std::uint64_t> ends,
                LoaderForecast& forecast) const;

  const GraphData::State& data_;
  MemoryLedger& ledger_;
  std::vector<std::unique_ptr<RowSample>> samples_;  // by node type; null in memory
  std::uint64_t trials_ = 0;
  std::uint64_t block_bytes_ = 0;  // of all trials
  std::uint64_t kept_bytes_ = 0;   // of all trials
};

/// Samples mini-batches from all over epoch 0, for at most so many seconds and at least one group,
/// and estimates; edges on disk are read for it, and what they will cost is part of the estimate.
/// @pre setup.batches > 0. Throws Error.
LoaderForecast forecast_epoch(GraphData::State& data,
                              WindowSampler& sampler,
                              const ForecastSetup& setup,
                              double seconds,
                              MemoryLedger& ledger);

}  // namespace sluice
