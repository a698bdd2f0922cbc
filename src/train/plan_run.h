// Opening a run within its budget: where features go, what fits, and a refusal that says what
// would.
#pragma once

#include "budget/dataset_disk.h"
#include "budget/placements.h"
#include "core/log.h"
#include "train/measured_needs.h"
#include "train/parts.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

namespace sluice {

/// Memory of the process beside the budget: code, LibTorch, thread stacks, allocator slack.
inline constexpr std::uint64_t kOverheadBytes = 300 * kMiB;

/// A run's parts within its budget.
struct PlannedRun {
  std::unique_ptr<Parts> parts;
  Places places;
  MemoryPlan plan;
  Work work;
  std::optional<DatasetDisk> disk = {};  ///< once it was measured: disk_of()
};

/// The disk that the dataset is on: measured when it is first asked for, a second where it is not
/// remembered. What went wrong is logged then. Null where it cannot be measured.
std::shared_ptr<const DiskProfile> disk_of(PlannedRun& run, Logger& log);

/// Throws kResource unless this machine and its memory cgroup (below `root`) grant budget +
/// overhead.
void check_granted(std::uint64_t budget, const std::filesystem::path& root = "/");

/// Lets the run's loaders plan whole epochs by disk_of(), and keeps scratch files without a name in
/// `scratch`. Does nothing for features in memory.
void plan_epochs(PlannedRun& run, const std::filesystem::path& scratch, Logger& log);

/// Where the run trains by partitions: sorts its links into edge buckets, in a file without a name
/// in `scratch`, and says that it is approximate. @pre no loader of training yet
void sort_links(PlannedRun& run, const std::filesystem::path& scratch, Logger& log);

/// Goes on with the dataset's newest generation, and splits the budget anew for it, where that is a
/// later one. No loader may be alive. Throws kResource with the table where it does not fit any
/// more, in the host's memory or, with learned rows that are kept there, in the GPU's. @return
/// whether it did
bool follow_dataset(PlannedRun& run, Logger& log);

/// Opens and builds the run under a ledger of options.memory.host, choosing where features go.
/// Throws kResource with the table and the smallest budget that works when it does not fit. @param
/// options must outlive the result
PlannedRun plan_run(const RunOptions& options, const Work& work, Logger& log);

}  // namespace sluice
