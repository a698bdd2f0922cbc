// Loader::State: the stages of a loader, each on its own thread, and what joins them. Private to
// the loader.
#pragma once

#include "pipeline/assembler.h"
#include "pipeline/byte_queue.h"
#include "pipeline/device_feed.h"
#include "pipeline/next_epoch.h"
#include "pipeline/row_fetcher.h"
#include "pipeline/stage_clock.h"
#include "pipeline/stage_state.h"
#include "pipeline/window_budget.h"
#include "pipeline/window_sampler.h"

#include <sluice/loader.h>
#include <sluice/mutex.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace sluice {

// A window whose rows are in, on its way to the assembler.
using WindowPtr = std::shared_ptr<Window>;

// What the fetching thread has done since the start.
struct FetchProgress {
  std::uint64_t windows = 0;
  FetchCounts counts;
  FeatureStats disk;  // all reads of feature rows
  std::uint64_t bytes_written = 0;
};

// Memory that training leaves alone while its windows were all kept: of their row numbers' indexes,
// of sampling, and of caches whose tables are smaller.
struct IdleMemory {
  std::uint64_t bytes = 0;
  std::uint64_t workspace = 0;  // of that, a thread's for sampling
};

struct Loader::State {
  State(GraphData& graph,
        const LoaderOptions& given,
        std::shared_ptr<const QuerySource> asked,
        const LoaderMemory& share,
        MemoryLedger& book);

  // One epoch's threads and what joins them. A new one each start, so that nothing is left over
  // from a stopped one.
  struct Run {
    Run(std::uint64_t queue_bytes, TraceWriter* trace)
        : ready(queue_bytes),
          sampling("sample", trace),
          fetching("fetch", trace),
          assembling("assemble", trace) {}
    ByteQueue<WindowPtr> sampled{
        0};  // windows are handed over, so that no more live than there are stages
    ByteQueue<WindowPtr> fetched{0};
    ByteQueue<Ready> ready;
    Demand demand;  // where memory is used in turns
    StageClock sampling;
    StageClock fetching;
    StageClock assembling;
    std::atomic<bool> stopping{false};
    std::atomic<bool> planned{false};      // as far as training waits for
    WindowSampler* windows = nullptr;      // where they come from
    std::unique_ptr<NextEpoch> prepared;   // this epoch, beside the one before; or null
    std::vector<StageTimes> busy_before;   // of its plan, as told before this start
    std::vector<StageTimes> busy_besides;  // with what was prepared in vain, or waited for
    mutable Mutex plan_mutex;              // of what the sampling thread makes before a window:
    std::unique_ptr<EpochPlan> plan;       // of this epoch
    std::string not_prepared;              // why there was no room to
    std::unique_ptr<NextEpoch> following;  // the epoch after; uses the plan
    std::vector<StageTimes> told;          // of its plan, as this run's stats had it last
    bool caches_go_on = false;             // from this epoch's plan to one that follows
    WindowsInUse in_use;
    Shared<TopologyStats> topology;
    Shared<SnapshotStats> snapshot;
    std::atomic<std::uint64_t> spool_read{
        0};  // sampled batches that were kept, and edges as a whole
    std::atomic<std::uint64_t> spool_written{0};
    Shared<FetchProgress> fetch_progress;
    std::atomic<std::uint64_t> bytes_useful{0};
    std::array<std::jthread, 3> threads;
  };

  void sample_loop(Run& run);
  void fetch_loop(Run& run);
  void assemble_loop(Run& run);
  std::optional<Ready> make_ready(Run& run, Window& window, std::size_t index);
  void count_sampling(Run& run) const;
  bool deliver(Run& run, Ready item) const;
  bool wait_for_turn(Run& run) const;
  bool may_plan() const;
  bool planned(std::uint64_t first_batch) const;
  void begin_windows(Run& run);
  bool take_prepared(Run& run);
  void plan_epoch(Run& run);
  void check_turns() const;
  void give_up_sampling();
  bool may_follow() const;
  std::unique_ptr<NextEpoch> next_epoch(const Run& now, int threads);
  void sample_next(Run& run);
  void no_room(std::string why);
  void prepare_next(Run& run);
  std::unique_ptr<NextEpoch> prepared_for(const LoaderStart& start);
  void make_way();
  const IdleMemory& beside_training();
  void fetch(Run& run, Window& window, const Window* ahead);
  const BatchSizes& first_sizes();
  WindowLimits make_room();
  WindowKind kind_of_windows(std::uint64_t first_batch) const;
  // Forgets what is cached: rows that are worth it come back with the first windows. Returns the
  // bytes that the caches keep, as planning has enough without them.
  std::uint64_t forget_rows();
  std::uint64_t kept_while_planning(std::uint64_t room,
                                    const WindowLimits& of_windows,
                                    std::uint64_t block) const;
  std::vector<std::uint64_t> slots() const;  // of the caches, by node type; 0: none
  // What is free while an epoch is planned, of caches whose rows were released: nothing is
  // delivered then, so what mini-batches, their features and the consumer's tensors will take is.
  std::uint64_t planning_room() const {
    return ledger.limit() == MemoryLedger::kUnlimited ? memory.window_bytes : ledger.available();
  }
  // A quarter stays for the caches' bookkeeping and the window being sampled.
  std::uint64_t planning_bytes(std::uint64_t room) const {
    return std::max(memory.window_bytes, room) / 4 * 3;
  }
  void be_the_active_one();
  // Whether all of the epoch was taken.
  bool at_the_end() const { return where.first_batch + delivered >= queries->num_batches(); }
  void halt();
  // The stores are the fetching thread's own while it runs.
  FeatureStats disk_stats() const;
  // The topologies are the sampling thread's own, or the assembling one's where that brings
  // mini-batches (WindowSampler::bring).
  TopologyStats topology_stats() const;
  SnapshotStats snapshot_stats() const;
  std::vector<StageTimes> stage_times() const;

  GraphData::State& data;
  LoaderOptions options;
  LoaderMemory memory;
  MemoryLedger& ledger;
  std::shared_ptr<const QuerySource> queries;
  WindowSampler sampler;
  RowFetcher fetcher;
  Assembler assembler;
  std::optional<DeviceFeed> feed;  // where batches go to a GPU
  std::unique_ptr<Run> run;
  std::unique_ptr<NextEpoch> aside;  // the epoch after the run's, complete, while others go on
  LoaderStart where;                 // of the run
  WindowLimits limits;
  std::optional<BatchSizes> sizes_of_first;  // of the first mini-batch of all, once it was sampled
  std::uint64_t batch_bytes = 0;             // of a sampled mini-batch
  std::optional<IdleMemory> idle;            // since the sampler's last epoch
  bool no_room_to_prepare = false;
  bool caches_replaced = false;          // while an epoch was prepared for them
  std::vector<StageTimes> busy_besides;  // with that one, for the next start
  std::string not_prepared;              // why, beside the epoch before
  std::uint64_t delivered = 0;
  std::uint64_t chain = 0;   // batches_xxh3 so far
  FeatureStats disk_before;  // counters of the stores when this run began
  TopologyStats topology_before;
  SnapshotStats snapshot_before;
  FetchCounts counts_before;
};

}  // namespace sluice
