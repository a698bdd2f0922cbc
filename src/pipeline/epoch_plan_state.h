// EpochPlan::State: how an epoch's plan is made, on which threads, and what was made so far.
// Private to the plan.
#pragma once

#include "core/condition_variable.h"
#include "pipeline/epoch_plan.h"
#include "pipeline/plan_part.h"

#include <sluice/mutex.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sluice {

struct EpochPlan::State {
  // Windows that are planned together.
  struct Part {
    std::size_t first_window = 0;
    std::vector<std::unique_ptr<PlanPart>> types;  // null where features are in memory
  };

  State(GraphData::State& data,
        const DiskProfile& disk,
        const EpochPlanOptions& options,
        MemoryLedger& ledger);
  ~State() { end(); }

  void end() noexcept;
  void clear_caches() noexcept;
  void leave_caches() noexcept;
  void open_part();
  static void add_window(PlanPart& part, std::span<const std::uint64_t> ids, WindowSource& source);
  bool sample(WindowSource& source, std::uint64_t batches);
  void plan_first(std::uint64_t bytes, PlanPart::Place place);
  void find_later_uses(std::uint64_t bytes);
  void plan_later(std::uint64_t bytes, PlanPart::Place place);
  void sample_and_plan(WindowSource& source);
  void plan_rest();
  void plan_beside_training(std::uint64_t bytes);
  void go_on_from(State& before);
  void plan_all_beside_training(std::uint64_t sum_bytes);
  std::uint64_t sum_bytes() const;
  void wait_until_planned();
  void announce(std::size_t parts);
  std::string reason_of(const Part& part, const PlanPart& of_type) const;
  // Of bytes that planning may take, those that caches did not take since.
  std::uint64_t left_of(std::uint64_t bytes) const { return bytes - std::min(bytes, taken); }
  // What planning the last part beside training takes, and what stays of that.
  struct Need {
    std::uint64_t most = 0;
    std::uint64_t sums = 0;
  };
  Need need_beside_training() const;
  const Part& part_of(std::size_t window) const;
  PlanPart& of(std::size_t window, std::size_t type) { return *part_of(window).types[type]; }
  const EpochLists::Step& step(std::size_t window, std::size_t type) {
    return of(window, type).lists.steps.at(window - part_of(window).first_window);
  }

  PlanSetting setting;
  bool ahead = false;  // planned beside the epoch before
  std::atomic<bool> stopping = false;
  std::vector<Part> parts;  // one or two; all of them from the time on that all is sampled
  std::size_t windows = 0;
  // Those that the caches went through before this epoch's, if they go on from another's.
  std::uint32_t windows_before = 0;
  // Caches went through windows that are not fetched yet: nobody else may take that for true.
  std::atomic<bool> caches_ahead = false;
  std::uint64_t taken = 0;        // by what packing the first part leaves: bytes
  std::uint64_t sums_before = 0;  // checksums that the epoch before needs yet, bytes
  std::size_t begun = 0;          // parts that were waited for
  bool ended = false;
  double seconds = 0;
  mutable Mutex mutex;
  ConditionVariable changed;
  std::size_t planned SLUICE_GUARDED_BY(mutex) = 0;  // parts
  std::vector<std::string> reasons SLUICE_GUARDED_BY(mutex);
  std::exception_ptr failure SLUICE_GUARDED_BY(mutex);
  std::jthread beside;  // last: it uses the others
};

}  // namespace sluice
