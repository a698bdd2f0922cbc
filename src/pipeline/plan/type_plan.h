// TypePlan: what is planned for an epoch's windows of one node type, and how it is made.
#pragma once

#include "core/counts.h"
#include "pipeline/plan/epoch_lists.h"
#include "pipeline/plan/plan_setting.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sluice {

/// Of scratch files and packed rows, so far; latencies of rows that were read back.
struct PlanTraffic {
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t requests = 0;  ///< that read packed rows back
  std::uint64_t writes = 0;    ///< of packed rows
  RequestLatency latency;

  PlanTraffic& operator+=(const PlanTraffic& more) { return add_counts(*this, more); }
};

struct TypePlan {
  std::unique_ptr<EpochLists> lists;
  std::unique_ptr<PackedRows> packed;  ///< a run a window; null where windows are not packed
  std::string reason;                  ///< what was chosen and why, with the figures
  /// Memory that the cache took for rows which packing brought, and reading the others back.
  std::uint64_t taken_bytes = 0;

  PlanTraffic traffic() const;
  /// Ends the packed rows and their file; what they counted stays.
  void drop_packed();

 private:
  PlanTraffic of_packed() const;

  PlanTraffic dropped_;  // of packed rows that are no more
};

/// Which of a cache's slots may be filled in while an epoch is planned.
enum class PlanSlots {
  kFree,     ///< all: before training
  kGoingOn,  ///< those that had no row yet: beside an epoch whose caches this one goes on with
  kInUse     ///< none: beside an epoch after which the caches begin empty
};

struct TypeRequest {
  std::size_t type = 0;
  std::unique_ptr<EpochLists> lists;
  PlanSlots slots = PlanSlots::kFree;
  std::uint64_t bytes = 0;  ///< for lists and packing, and rows that the cache takes on its way
  bool followed = false;    ///< by an epoch that goes on with the cache, whose memory stays then
};

/// Finds next uses, lets the directory go through the windows without rows, chooses how what is
/// missing is brought, and packs it if that is the choice.
/// @param busy of planning: paused while it packs
TypePlan plan_type(const PlanSetting& setting,
                   TypeRequest request,
                   RowDirectory& directory,
                   Busy& busy);

/// What that takes at least beside training, and gives back.
std::uint64_t bytes_beside_training(const PlanSetting& setting,
                                    std::size_t type,
                                    const EpochLists& lists);
/// Of the checksums of packed rows, which stay, if all rows are missing.
std::uint64_t bytes_of_sums(const PlanSetting& setting, std::size_t type, const EpochLists& lists);

}  // namespace sluice
