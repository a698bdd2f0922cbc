// EpochCost: what bringing an epoch's missed rows of one feature table costs the disk, window by
// window or repacked, and which of the two is chosen: for epoch plans, and for forecasts of them.
// Used by one thread.
#pragma once

#include "storage/feature/packed_rows.h"
#include "storage/feature/read_plan_cost.h"
#include "storage/feature/row_directory.h"
#include "storage/io/disk_profile.h"

#include <sluice/loader.h>

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

/// How a window's missing rows are read.
enum class WindowPlan : std::uint8_t { kDirect, kSweep, kPacked };

class EpochCost {
 public:
  /// @param disk borrowed. @param scale of a sample of the rows: how many each stands for
  EpochCost(const FeatureLayout& layout,
            const DiskProfile& disk,
            PlanChoice plan,
            MemoryLedger* ledger,
            double scale = 1);

  struct Choice {
    WindowPlan plan = WindowPlan::kDirect;
    std::uint32_t gap_bytes = 0;  ///< of a sweep: the widest that is read through
  };
  /// The next window, priced by stretches of it where it is large. @param packed of `missed`, those
  /// that repacking would write: all but what it brings into the cache on its way
  Choice add(const WantedRows& missed, std::uint64_t packed);

  std::uint64_t missed_rows() const;
  std::uint64_t packed_rows() const { return scaled(packed_rows_); }
  /// All windows, each by its own choice.
  PlanEstimate windows() const;
  /// The parts of the table that hold missed rows.
  const NeededParts& needed() const { return needed_; }

  struct Decision {
    bool pack = false;
    PlanEstimate packing;  ///< what it would take, chosen or not
    std::string why;       ///< one line with the figures of both
  };
  /// @param buffer_bytes what repacking may take
  Decision decide(std::uint64_t buffer_bytes) const;
  /// Where the epoch is not known ahead: each window by its own.
  Decision decide_by_window() const;

 private:
  std::uint64_t scaled(std::uint64_t count) const;

  FeatureLayout layout_;
  const DiskProfile& disk_;
  PlanChoice plan_;
  double scale_;
  NeededParts needed_;
  PlanEstimate windows_;
  std::uint64_t num_windows_ = 0;
  std::uint64_t missed_rows_ = 0;
  std::uint64_t packed_rows_ = 0;
};

/// The first windows' rows go from the pass over the table straight into the cache, as far as its
/// memory is not needed for repacking: they are neither written nor read back. The slots, from the
/// first on, that are filled so. @param bytes for repacking and these slots
std::uint32_t slots_to_prefill(PlanChoice plan,
                               std::size_t windows,
                               const FeatureLayout& layout,
                               std::uint64_t bytes,
                               std::uint32_t cache_slots);

/// Of a window's missing rows, as RowCache::admit gives them, how many, its first, lie in the first
/// `slots`, which no row had before.
std::uint64_t count_prefilled(const RowDirectory::Admission& admission,
                              std::span<const std::uint32_t> missing,
                              std::span<const std::uint32_t> places,
                              std::uint32_t slots);

}  // namespace sluice
