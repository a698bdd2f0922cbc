// NextEpoch: the epoch after the one that trains, a future: sampled, planned and packed beside it,
// on a thread that gives way to others, in memory that sampling and planning leave idle while
// windows come from a spool. So none but the first epoch waits for its plan. Where others use the
// caches between the epochs, as a validation does, it is completed before they do.
#pragma once

#include "pipeline/plan/planned_epoch.h"
#include "pipeline/stream/kept_windows.h"

#include <sluice/loader.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

class NextEpoch {
 public:
  struct Setup {
    LoaderStart where;  ///< the begin of an epoch
    WindowLimits limits;
    std::uint64_t batch_bytes = 0;      ///< of a sampled mini-batch
    std::uint64_t workspace_bytes = 0;  ///< to sample one in
    /// Whether it begins with what the epoch before leaves in the caches: not where others come
    /// between the epochs, nor for sample().
    bool caches_go_on = false;
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
  /// Begins, or goes on, on a thread of its own, with so much memory, of which it may keep so much
  /// once it is prepared. `now`, the plan of the epoch before, hands over its directories, if any.
  /// @pre the caches' tables are whole
  void prepare_beside(PlannedEpoch& now, std::uint64_t bytes, std::uint64_t kept_bytes);

  /// Of the epoch; the same object until the end.
  const LoaderStart& where() const { return setup_.where; }
  /// Waits until all is planned, which an interruption ends from here on. Returns why it is not,
  /// where memory or disk had no room; else nothing. Throws Error.
  std::string wait();
  /// Waits likewise, whatever becomes of it. From then on it uses the caches no more until the
  /// epoch begins, and others may; wait() tells how it went.
  void complete();
  bool completed() const { return completed_; }
  /// Whether the caches are those that it was planned for.
  bool caches_are_there() const { return data_.caches_made == caches_made_; }
  /// @pre wait() said so. The windows borrow from this
  std::unique_ptr<KeptWindows> take_windows() { return std::move(windows_); }
  PlannedEpoch take_plan() { return *std::move(plan_); }

  /// Of plan and repack, so far; may be asked from any thread.
  std::vector<StageTimes> stages() const { return clocks_.times(); }

  void ask_to_stop() { stopping_ = true; }
  /// Ends what goes on; the caches are free for others then.
  void stop() noexcept;

 private:
  void sample_now(std::uint64_t bytes);
  PlannedEpoch plan(PlanRequest request, Directories directories);
  void settle() noexcept;

  GraphData::State& data_;
  Setup setup_;
  std::uint64_t caches_made_;
  BatchSampler sampler_;
  PlanClocks clocks_;
  PlanSetting setting_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> awaited_ = false;
  bool completed_ = false;
  std::optional<SampledEpoch> sampled_;
  std::unique_ptr<KeptWindows> windows_;  // likewise
  std::exception_ptr failure_;
  std::optional<PlannedEpoch> plan_;
  std::future<PlannedEpoch> planning_;  // until it is settled; uses the others
};

}  // namespace sluice
