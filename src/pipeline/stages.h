// Stages: the threads of an epoch and what joins them: windows are sampled, fetched, and their
// mini-batches assembled. New ones for each start, so that nothing is left over from a stopped one.
// next() and stop() are the consumer's; what was counted may be asked from any thread.
#pragma once

#include "pipeline/gpu/device_feed.h"
#include "pipeline/phases.h"
#include "pipeline/plan/epoch_planner.h"
#include "pipeline/stage/assembler.h"
#include "pipeline/stage/byte_queue.h"
#include "pipeline/stage/row_fetcher.h"
#include "pipeline/stage/stage_state.h"
#include "pipeline/stage_clock.h"

#include <sluice/loader.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

namespace sluice {

// What stores, topologies and fetching have counted since they are there. The stores are the
// fetching thread's own while it runs; the topologies the sampling one's, or the assembling one's
// where that brings mini-batches (WindowStream::bring).
struct DataCounts {
  static FeatureStats disk_of(const GraphData::State& data);
  static TopologyStats topology_of(const GraphData::State& data);
  static SnapshotStats snapshot_of(const GraphData::State& data);

  FeatureStats disk;  // all reads of feature rows
  TopologyStats topology;
  SnapshotStats snapshot;
  FetchCounts fetched;
};

class Stages {
 public:
  // All is borrowed.
  struct Setting {
    GraphData::State& data;
    const LoaderOptions& options;
    const LoaderMemory& memory;
    EpochPlanner& planner;
    RowFetcher& fetcher;
    Assembler& assembler;
    DeviceFeed* feed;     // where batches go to a GPU; or null
    std::uint64_t epoch;  // its number
    DataCounts before;    // when it was started
  };

  /// Begins.
  explicit Stages(const Setting& setting);
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;
  ~Stages() { stop(); }

  /// Asks for the next mini-batch, and waits until next() has it or there is none; false once so
  /// much time has passed.
  bool wait(std::chrono::milliseconds most);
  /// The next mini-batch. Nothing at the end of the epoch, or once stopped. Throws what a stage
  /// met.
  std::optional<Ready> next();
  /// Ends the threads.
  void stop();

  void add_to(LoaderStats& stats) const;

 private:
  // What the fetching thread has done since the start.
  struct FetchProgress {
    std::uint64_t windows = 0;
    FetchCounts counts;
    FeatureStats disk;
    std::uint64_t bytes_written = 0;
  };
  using WindowPtr = std::shared_ptr<Window>;

  void ask();
  void sample_loop();
  void fetch_loop();
  void assemble_loop();
  void count_sampling();
  void fetch(Window& window, const Window* ahead);
  void count_fetching(FetchProgress& progress);
  bool wait_for_turn();
  std::optional<Ready> make_ready(Window& window, std::size_t index);
  bool deliver(Ready item);

  Setting set_;
  Phases phases_{set_.memory};
  WindowStream* stream_ = nullptr;   // from the time that a window is handed over
  ByteQueue<WindowPtr> sampled_{0};  // handed over, so that no more live than there are stages
  ByteQueue<WindowPtr> fetched_{0};
  ByteQueue<Ready> ready_{set_.memory.queue_bytes};
  Demand demand_;       // where the consumer is waited for
  bool asked_ = false;  // for the next mini-batch; the consumer's
  WindowsInUse in_use_;
  std::atomic<bool> stopping_{false};
  StageClock sampling_{"sample", set_.options.trace};
  StageClock fetching_{"fetch", set_.options.trace};
  StageClock assembling_{"assemble", set_.options.trace};
  Shared<TopologyStats> topology_;
  Shared<SnapshotStats> snapshot_;
  Shared<FetchProgress> progress_;
  std::atomic<std::uint64_t> spool_read_{0};  // batches that were kept, and edges as a whole
  std::atomic<std::uint64_t> spool_written_{0};
  std::atomic<std::uint64_t> bytes_useful_{0};
  std::array<std::jthread, 3> threads_;  // last: they use the others
};

}  // namespace sluice
