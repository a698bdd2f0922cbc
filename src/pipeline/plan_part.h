// PlanPart: some consecutive windows of one node type in an EpochPlan: their lists, what the cache
// found, and their repacked rows. Private to the plan. Used by one thread at a time.
#pragma once

#include "pipeline/epoch_lists.h"
#include "pipeline/epoch_plan.h"
#include "pipeline/stage_clock.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// What the parts of a plan share. Used by several threads.
struct PlanSetting {
  GraphData::State& data;
  const DiskProfile& disk;
  EpochPlanOptions options;
  MemoryLedger& ledger;
  StageClock planning;
  StageClock packing;
  std::function<bool()> stopped;

  /// Throws kInterrupted.
  void check_stopped() const;
};

class PlanPart {
 public:
  /// @param windows_before that the cache counts before the first of these
  PlanPart(PlanSetting& setting, std::size_t type, std::uint32_t windows_before);

  EpochLists lists;

  /// What planning and packing so many windows take at good speed besides the cache's rows, bytes,
  /// while nothing else goes on. @param rows of a window, at most. @param slots of the cache
  static std::uint64_t good_bytes(const FeatureLayout& layout,
                                  std::uint64_t windows,
                                  std::uint64_t rows,
                                  std::uint64_t slots);
  /// What planning it takes at least beside training, and gives back.
  std::uint64_t bytes_beside_training() const;
  /// As a last part, so that no row is written that could go to a slot which is left: with less it
  /// is planned better before training.
  std::uint64_t bytes_beside_training_as_last() const {
    return bytes_beside_training() + bytes_to_list_rest_of_cache();
  }
  /// Of the checksums of its runs, which stay, if all rows are missing.
  std::uint64_t sum_bytes() const;

  enum class Place {
    kOnly,   ///< of the epoch: the cache begins empty
    kFirst,  ///< likewise, and goes on to the next part
    kLast,   ///< goes on from the windows before, beside training, with as little memory as it can
    kAhead   ///< beside training likewise: the cache begins empty, but its slots are in use
  };

  /// Lets the cache go through the windows without rows, chooses how what is missing is brought,
  /// and packs it if that is the choice. @pre next uses were found
  /// @param bytes for packing, and rows that the cache takes on its way
  /// @param busy of planning: paused while it packs
  void plan(std::uint64_t bytes, Place place, Busy& busy);

  DiskFeatureStore& store() const;
  /// What was chosen and why, with the figures.
  const std::string& reason() const { return reason_; }
  /// Memory that the cache took for rows which packing brought, and reading the others back, bytes.
  std::uint64_t taken_bytes() const {
    return cache_bytes_ + (packed_ ? packed_->read_buffer_bytes() : 0);
  }
  /// Null where windows are not packed. Run = window of the part.
  PackedRows* packed() { return packed_.get(); }
  const PackedRows* packed() const { return packed_.get(); }
  /// Ends the packed rows and their file; what they counted stays.
  void drop_packed();

  EpochPlan::Traffic traffic() const;

 private:
  std::unique_ptr<EpochCost> admit(std::uint64_t bytes, Place place);
  void go_through_windows(EpochCost& cost);
  void list_prefill(std::uint64_t slots);
  void take_cache(std::uint64_t bytes);
  std::uint64_t bytes_to_list_rest_of_cache() const;
  void take_rest_of_cache(std::uint64_t bytes);
  std::shared_ptr<PackingBuffers> packing_buffers(std::uint64_t bytes) const;
  bool pack(const NeededParts& needed, std::uint64_t bytes, bool read_at_once);
  RowCache& cache() const { return *setting_.data.caches[type_]; }

  PlanSetting& setting_;
  std::size_t type_;
  // The cache's slots before this one that no row had yet: rows go there without a run.
  std::uint32_t prefilled_slots_ = 0;
  std::vector<WantedRow> prefill_;  // those rows; ascending while they are packed
  Charge prefill_charge_;
  std::shared_ptr<PackingBuffers> buffers_;  // for packing that may be decided on
  std::unique_ptr<PackedRows> packed_;
  EpochPlan::Traffic dropped_;  // of packed rows that are no more
  std::uint64_t cache_bytes_ = 0;
  std::string reason_;
};

}  // namespace sluice
