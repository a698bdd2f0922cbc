// EpochPlan: an epoch's mini-batches sampled once ahead of time, for their node ids alone, so that
// the future is known: which rows each window will miss under the cache's policy when every next
// use is known (Belady), and by which plan it costs the disk least to bring them.
//
// What is kept until a window is fetched, in scratch files without a name, is a few bytes a row:
// its place in the cache, and the ids of those that are missing. The batches themselves are kept by
// the sampler, or sampled again: that is a pure function of (seed, epoch, batch). Memory: a
// window's lists, and four bytes a node id in a range (ranges so wide that they fit).
//
// An epoch may be planned in two parts, so that training begins with the first while the second is
// planned beside it. The first does not know when the second asks for its rows, and packing passes
// over the table twice. Where it is known that another epoch follows, all of that may be planned
// beside training likewise, as a third part: the caches go on from one epoch to the next.
#pragma once

#include "pipeline/epoch_cost.h"
#include "pipeline/graph_data_state.h"
#include "pipeline/trace.h"
#include "pipeline/window_source.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

struct EpochPlanOptions {
  std::filesystem::path folder;  ///< for scratch files
  PlanChoice plan = PlanChoice::kAuto;
  std::uint64_t buffer_bytes = 0;  ///< for lists and packing, while no window lives
  /// Asked now and then, by several threads: throws kInterrupted when it says so.
  std::function<bool()> stopped;
  TraceWriter* trace = nullptr;  ///< borrowed; may be null

  /// Mini-batches of a first part, rounded up to whole windows; 0: all are planned together.
  std::uint64_t first_part = 0;
  /// What planning the first part may take while the rest is sampled, bytes.
  std::uint64_t beside_sampling = 0;
  /// Asked once all is sampled: what planning the second part may take beside training. Too little:
  /// it is planned before.
  std::function<std::uint64_t()> beside_training;
  /// A plan of the epoch after may go on from this one: after().
  bool followed = false;
};

class EpochPlan {
 public:
  /// Goes through the epoch from `where` on, and leaves `windows` at its begin. The caches know no
  /// rows then, but their tables may hold some. @pre they were forgotten; memory that they still
  /// hold is used beyond `buffer_bytes`. Where it goes in two parts the second goes on on a thread
  /// of the plan's own, which uses the caches' bookkeeping; all that is borrowed must outlive the
  /// plan. Throws Error.
  static std::unique_ptr<EpochPlan> make(GraphData::State& data,
                                         WindowSource& windows,
                                         const LoaderStart& where,
                                         const WindowLimits& limits,
                                         const DiskProfile& disk,
                                         const EpochPlanOptions& options,
                                         MemoryLedger& ledger);
  /// Of an epoch that is prepared while the one before trains. follow(), sample() and plan_beside()
  /// make it, once each.
  static std::unique_ptr<EpochPlan> ahead(GraphData::State& data,
                                          const DiskProfile& disk,
                                          const EpochPlanOptions& options,
                                          MemoryLedger& ledger);
  enum class Caches {
    kEmpty,   ///< at this epoch's begin
    kGoingOn  ///< with the rows that the epoch before leaves: it hands over their bookkeeping
  };
  /// Waits until `before` is planned. Throws Error: what planning it met. @pre `before` is not
  /// stopped meanwhile; for kGoingOn it was followed and not stopped, and this comes before
  /// sample()
  void follow(EpochPlan& before, Caches caches);
  /// Goes through the epoch, and leaves `windows` at its begin. Throws Error.
  void sample(WindowSource& windows, const LoaderStart& where, const WindowLimits& limits);
  /// Plans all of the epoch with as much memory as EpochPlanOptions::beside_training says; of that
  /// it may keep so many bytes of checksums. Throws Error: kResource where memory or disk have no
  /// room. @pre follow() and sample() were called
  void plan_beside(std::uint64_t sum_bytes);
  ~EpochPlan();

  /// Waits until the window is planned, and gives up what windows before its part took. Throws
  /// Error: what planning it met.
  void wait_for(std::size_t window);
  /// Ends what goes on beside training: windows that are not planned yet never are. The caches'
  /// bookkeeping is free for others then.
  void stop();
  /// Gives up the packed rows, which nobody reads any more; what they counted stays. @pre stop()
  void drop_packed();

  /// Of windows that were waited for, from here on.
  WindowPlan plan(std::size_t window, std::size_t type) const;
  /// For a sweep: the gap to read through, bytes.
  std::uint32_t gap(std::size_t window, std::size_t type) const;
  /// Where the window's rows belong in the cache: `places` [rows], by number; `wanted`: those that
  /// are to be read, ascending. Returns what the cache found. Each window once, in order.
  RowCache::Admission rows(std::size_t window,
                           std::size_t type,
                           std::span<std::uint32_t> places,
                           std::vector<WantedRow>& wanted);
  /// Brings the rows of a packed window to their places of the cache's table. `wanted`: as rows()
  /// gave them. Each window once, in order.
  Result<void> read_packed(std::size_t window,
                           std::size_t type,
                           std::span<const WantedRow> wanted,
                           std::span<std::byte> table);

  /// What was chosen and why, with the figures: a line a node type and part that is planned.
  std::vector<std::string> reasons() const;
  double seconds() const;                  ///< that passed until the first windows were planned
  std::vector<StageTimes> stages() const;  ///< plan, repack: what they were busy for
  /// Of scratch files and packed rows, so far; latencies of rows that were read back.
  struct Traffic {
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    std::uint64_t requests = 0;  ///< that read packed rows back
    std::uint64_t writes = 0;    ///< of packed rows
    RequestLatency latency;
  };
  Traffic traffic() const;

  /// What a node type's lists of ids and next uses move in scratch files, all of an epoch.
  struct ListBytes {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };
  struct ListSizes {
    std::uint64_t windows = 0;
    std::uint64_t wanted = 0;  ///< rows, summed over windows
    std::uint64_t missed = 0;  ///< of these, that the cache does not have
    std::uint64_t packed = 0;  ///< of the missed ones, that are repacked
  };
  static ListBytes list_bytes(std::uint64_t nodes,
                              const ListSizes& sizes,
                              std::uint64_t buffer_bytes);

 private:
  struct State;
  explicit EpochPlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice
