// NextEpoch: the epoch after the one that trains, sampled, planned and packed beside it, on a
// thread that gives way to others, in memory that sampling and planning leave idle while windows
// come from a spool. So none but the first epoch waits for its plan. Where others use the caches
// between the epochs, as a validation does, it is completed before they do.
#pragma once

#include "core/condition_variable.h"
#include "pipeline/epoch_plan.h"
#include "pipeline/window_sampler.h"

#include <sluice/loader.h>
#include <sluice/mutex.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sluice {

class NextEpoch {
 public:
  struct Setup {
    LoaderStart where;  ///< the begin of an epoch
    WindowLimits limits;
    std::uint64_t batch_bytes = 0;  ///< of a sampled mini-batch
    /// kEmpty where others come between the epochs, and for sample().
    EpochPlan::Caches caches = EpochPlan::Caches::kEmpty;
  };

  /// What sampling it beside training takes besides a workspace, bytes.
  static std::uint64_t sampling_bytes(const WindowLimits& limits, std::uint64_t batch_bytes);

  /// All that is given is borrowed. @param threads that sample it; 1: beside training
  NextEpoch(GraphData::State& data,
            const LoaderOptions& options,
            int threads,
            const QuerySource& queries,
            MemoryLedger& ledger,
            Setup setup);
  NextEpoch(const NextEpoch&) = delete;
  NextEpoch& operator=(const NextEpoch&) = delete;
  ~NextEpoch() { stop(); }

  /// Samples it now, with so much memory: where edges are on disk, and training leaves too little.
  /// Throws Error, but kResource: wait() tells.
  void sample(std::uint64_t bytes);
  /// Begins, or goes on, on a thread of its own, once all of `now` is planned, with so much memory,
  /// of which it may keep so much once it is prepared. `now` is borrowed until wait_until_apart().
  /// @pre the caches' tables are whole, and `now` is followed unless this begins with empty ones
  void prepare_beside(EpochPlan& now, std::uint64_t bytes, std::uint64_t kept_bytes);

  /// Of the epoch; the same object until the end.
  const LoaderStart& where() const { return setup_.where; }
  /// Waits until it needs the plan of the epoch before no longer: once that is complete.
  void wait_until_apart();
  /// Waits until all is planned; from the first call on an interruption ends it. False where memory
  /// or disk had no room: why_not(). Throws Error.
  bool wait();
  /// Gives up its mini-batches, once the epoch is over.
  void forget_windows() { sampler_.forget_kept(); }
  const std::string& why_not() const { return why_not_; }
  /// Waits likewise, whatever becomes of it. From then on it uses the caches no more until the
  /// epoch begins, and others may; wait() tells how it went.
  void complete();
  bool completed() const { return completed_; }
  /// Whether a plan may go on from its one.
  bool caches_go_on() const { return !sampler_.paged() && !completed_; }
  /// Whether the caches are those that it was planned for.
  bool caches_are_there() const { return data_.caches_made == caches_made_; }
  /// @pre wait() said so
  WindowSampler& windows() { return sampler_; }
  std::unique_ptr<EpochPlan> take_plan() { return std::move(plan_); }

  /// As EpochPlan::stages, so far; may be asked from any thread, until the plan is taken.
  std::vector<StageTimes> stages() const;

  void ask_to_stop() { stopping_ = true; }
  /// Ends what goes on; thread-safe.
  void stop() noexcept;

 private:
  void run(EpochPlan& now);
  void part_from_before();
  EpochPlanOptions planning();

  GraphData::State& data_;
  Setup setup_;
  std::uint64_t caches_made_;
  WindowSampler sampler_;
  TraceWriter* trace_;
  std::uint64_t bytes_ = 0;      // for all of it, beside training
  std::uint64_t sum_bytes_ = 0;  // for checksums, of what it may keep
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> awaited_ = false;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  bool apart_ SLUICE_GUARDED_BY(mutex_) = false;
  bool done_ SLUICE_GUARDED_BY(mutex_) = false;
  // The thread's own until it is done, but for what stages() asks.
  std::unique_ptr<EpochPlan> plan_;
  bool sampled_ = false;
  bool completed_ = false;
  std::string why_not_;
  std::exception_ptr failure_;
  Mutex stop_mutex_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace sluice
