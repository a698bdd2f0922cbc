// What the plans of reading would take on a measured disk: pure functions, for the choice of a
// plan, the log and --dry-run.
//
//   direct  each page once a window, neighbours merged up to 64 KiB
//   sweep   requests up to 1 MiB that read through gaps, where that is quicker than a request more
//   repack  an epoch at once: the needed part of the table read once, its missed rows scattered
//           into runs on disk, the runs read back
//
// Seconds are those of the disk alone, kept busy; a window of a few requests waits longer.
#pragma once

#include "storage/feature/read_shape.h"
#include "storage/io/disk_profile.h"

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

struct PlanEstimate {
  std::string plan;    ///< "direct", "sweep", "repack"
  double seconds = 0;  ///< infinite where the disk's speed of writing is not known but needed
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t requests = 0;   ///< reads and writes
  std::uint32_t gap_pages = 0;  ///< sweep: the widest gap that is read through
  std::string why;              ///< one sentence with the figures
};

/// One window's missing rows.
PlanEstimate estimate_direct(const DiskProfile& disk, const ReadShape& window);
/// The same by the quickest of ReadShape::kSweeps; the narrower gap where two take as long.
PlanEstimate estimate_sweep(const DiskProfile& disk, const ReadShape& window);

/// What an epoch asks of repacking.
struct RepackWork {
  std::uint64_t missed_rows = 0;     ///< summed over windows: a row missed in two is written twice
  std::uint64_t prefilled_rows = 0;  ///< missed too, but brought by the pass over the table alone
  std::uint64_t runs = 0;            ///< mini-batches or windows, each with a run of whole pages
  std::uint64_t row_bytes = 0;
  std::uint64_t table_bytes = 0;
};

inline constexpr std::uint64_t kRepackIdBytes = 8;  ///< a missed row's id, kept on disk in between

/// Reads the whole table in sequence. With M bytes missed and T of table: T + M read back + M
/// written, and a list of ids written and read. So on a disk that is bound by its bandwidth alone
/// it beats direct, which reads amp M for amp = 4096 / row bytes, when M > T / (amp - 2), the ids
/// (2 * 8 bytes a row) aside.
PlanEstimate estimate_repack(const DiskProfile& disk, const RepackWork& work);
/// The same, reading only what the epoch needs. @param needed of the epoch's distinct missed rows;
/// its best sweep is taken where it is quicker than the whole table
PlanEstimate estimate_repack(const DiskProfile& disk,
                             const RepackWork& work,
                             const ReadShape& needed);

/// The quickest, the first of equals; its `why` goes on with what the others would have taken.
/// @pre not empty
PlanEstimate quickest(std::span<const PlanEstimate> estimates);

/// quickest of direct and sweep.
PlanEstimate choose_window_plan(const DiskProfile& disk, const ReadShape& window);

}  // namespace sluice
