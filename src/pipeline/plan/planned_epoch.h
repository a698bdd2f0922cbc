// PlannedEpoch: an epoch whose windows were sampled ahead for their node ids, so that the future is
// known: which rows each window will miss under the cache's policy when every next use is known
// (Belady), and by which plan it costs the disk least to bring them. A value: plan_epoch() makes it
// of what was sampled and what the caches hold, before the epoch or beside the one before.
//
// What is kept until a window is fetched, in scratch files without a name, is a few bytes a row:
// its place in the cache, and the ids of those that are missing. The batches themselves are kept by
// the sampler, or sampled again: that is a pure function of (seed, epoch, batch). Memory: a
// window's lists, and four bytes a node id in a range (ranges so wide that they fit). Used by one
// thread at a time.
#pragma once

#include "pipeline/plan/directories.h"
#include "pipeline/plan/plan_setting.h"
#include "pipeline/plan/table_plan.h"
#include "pipeline/stream/window_source.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// The windows of an epoch: the ids of their rows, by feature table; null where it is in memory.
using SampledEpoch = std::vector<std::unique_ptr<EpochLists>>;

/// Goes through the windows. Throws Error.
SampledEpoch sample_epoch(const PlanSetting& setting, WindowSource& windows);

struct PlanRequest {
  SampledEpoch sampled;
  PlanSlots slots = PlanSlots::kFree;
  /// For lists and packing, besides what the caches' tables hold.
  std::uint64_t bytes = 0;
  /// Beside training: of these bytes, those that checksums may keep, and those that the checksums
  /// of the epoch before keep.
  std::uint64_t kept_bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t kept_before = 0;
  /// Whether the plan of the epoch after may go on from this one: the directories stay with it.
  bool followed = false;
};

class PlannedEpoch {
 public:
  /// Counts what packing read of the tables with their stores, once the epoch begins.
  void begin(GraphData::State& data);
  WindowPlan plan(std::size_t window, std::size_t table) const;
  /// For a sweep: the gap to read through, bytes.
  std::uint32_t gap(std::size_t window, std::size_t table) const;
  /// Where the window's rows belong in the cache: `places` [rows], by number; `wanted`: those that
  /// are to be read, ascending. Returns what the cache found. Each window once, in order.
  RowDirectory::Admission rows(std::size_t window,
                               std::size_t table,
                               std::span<std::uint32_t> places,
                               std::vector<WantedRow>& wanted);
  /// Brings the rows of a packed window to their places of the cache's table. `wanted`: as rows()
  /// gave them. Each window once, in order.
  Result<void> read_packed(std::size_t window,
                           std::size_t table,
                           std::span<const WantedRow> wanted,
                           std::span<std::byte> slots);

  /// What was chosen and why, with the figures: a line a table.
  const std::vector<std::string>& reasons() const { return reasons_; }
  PlanTraffic traffic() const;
  /// Memory that the checksums of packed rows keep, at most.
  std::uint64_t kept_bytes() const { return kept_bytes_; }
  /// As the epoch leaves them; empty where it is not followed, or they were taken. Who takes none
  /// lets them go back to the caches before others use these.
  Directories take_directories() { return std::move(directories_); }
  /// Gives up the packed rows, which nobody reads any more; what they counted stays.
  void drop_packed();

 private:
  friend PlannedEpoch plan_epoch(const PlanSetting&, PlanRequest, Directories);

  const EpochLists::Step& step(std::size_t window, std::size_t table) const;

  std::vector<std::unique_ptr<TablePlan>> tables_;  // null where a table is in memory
  std::vector<std::string> reasons_;
  std::uint64_t kept_bytes_ = 0;
  Directories directories_;
};

/// @param directories as the caches will be when the epoch begins. Throws Error: kResource where
/// memory or disk have no room
PlannedEpoch plan_epoch(const PlanSetting& setting, PlanRequest request, Directories directories);

}  // namespace sluice
