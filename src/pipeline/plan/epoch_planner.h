// EpochPlanner: which of a loader's epochs are planned, in which memory, and which of them beside
// the one before: whatever goes on between two of its WindowStreams.
// The consumer's thread claims, begins, ends and sets aside; a sampling thread opens the stream and
// a fetching one may stop planning meanwhile; times and reasons may be asked from any thread.
#pragma once

#include "pipeline/phases.h"
#include "pipeline/plan/planning_memory.h"
#include "pipeline/plan/window_stream.h"

#include <sluice/loader.h>
#include <sluice/mutex.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Whether sampling ahead is of use: for the rows' next uses or for repacking.
bool may_plan(const GraphData::State& data);
/// Whether an epoch, or its rest, of so many mini-batches is sampled ahead.
bool is_planned(const GraphData::State& data, const Phases& phases, std::uint64_t batches);

void add_times(std::vector<StageTimes>& to, const std::vector<StageTimes>& more, double sign);

class EpochPlanner {
 public:
  /// All are borrowed.
  EpochPlanner(GraphData::State& data,
               const LoaderOptions& options,
               const LoaderMemory& share,
               MemoryLedger& ledger,
               const QuerySource& queries,
               BatchSampler& sampler,
               PlanningMemory& memory);

  /// Before the epoch before is ended: the one to come, if it was prepared. @param over whether all
  /// of the epoch before was consumed
  std::unique_ptr<NextEpoch> claim(const LoaderStart& start, bool over);
  /// An epoch begins. @param prepared as it was claimed, or null: then size_windows() follows
  void begin(const LoaderStart& where, std::unique_ptr<NextEpoch> prepared);
  /// @param batch_bytes of a sampled mini-batch
  void size_windows(WindowLimits limits, std::uint64_t batch_bytes);
  /// On the sampling thread: plans the epoch, if it is to be, and begins to prepare the one after.
  /// Throws Error.
  WindowStream& open(const std::function<bool()>& stopped);
  /// On the fetching thread, before the caches are emptied: nobody goes on with them.
  void stop_planning();
  void ask_to_stop();
  /// The epoch is over, or stopped: nothing of it goes on. @pre so are the stages
  void end();
  /// Before end(), where other loaders come between: the next epoch, complete; or null.
  std::unique_ptr<NextEpoch> complete_next();
  /// After end(): what was completed takes the place on disk of the epoch that is over.
  void set_aside(std::unique_ptr<NextEpoch> next);

  /// Adds plan and repack, in this epoch, to the stages, and why what was chosen.
  void add_to(LoaderStats& stats) const;

 private:
  bool may_follow() const;
  bool take_prepared();
  std::unique_ptr<KeptWindows> sample_now(const PlanSetting& setting,
                                          const Phases& phases,
                                          std::uint64_t room,
                                          SampledEpoch& sampled);
  void plan_now(const std::function<bool()>& stopped);
  std::unique_ptr<NextEpoch> next_epoch(int threads) const;
  void prepare_next();

  GraphData::State& data_;
  const LoaderOptions& options_;
  const LoaderMemory& share_;
  MemoryLedger& ledger_;
  const QuerySource& queries_;
  BatchSampler& sampler_;
  PlanningMemory& memory_;

  LoaderStart where_;  // of the epoch
  WindowLimits limits_;
  std::uint64_t batch_bytes_ = 0;  // of a sampled mini-batch
  bool caches_go_on_ = false;      // from this epoch's plan to one that follows
  bool no_room_to_prepare_ = false;
  bool caches_replaced_ = false;      // while an epoch was prepared for them
  std::unique_ptr<NextEpoch> aside_;  // complete, while others go on
  std::vector<StageTimes> vain_;      // of what was prepared in vain, for the next epoch
  std::string not_prepared_;          // why the next epoch was not

  mutable Mutex mutex_;  // of what the sampling thread makes before a window
  std::unique_ptr<PlanClocks> clocks_
      SLUICE_GUARDED_BY(mutex_);  // of what is planned when it comes
  std::unique_ptr<NextEpoch> prepared_ SLUICE_GUARDED_BY(mutex_);  // this epoch, until it is opened
  std::unique_ptr<WindowStream> stream_ SLUICE_GUARDED_BY(mutex_);
  std::unique_ptr<NextEpoch> following_ SLUICE_GUARDED_BY(mutex_);
  std::string why_not_ SLUICE_GUARDED_BY(mutex_);  // the epoch was not prepared
  // Of the epoch's plan: as told before it began; with what was prepared in vain, or waited for;
  // and of the next one's, as it was told last.
  std::vector<StageTimes> before_ SLUICE_GUARDED_BY(mutex_);
  std::vector<StageTimes> besides_ SLUICE_GUARDED_BY(mutex_);
  mutable std::vector<StageTimes> told_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
