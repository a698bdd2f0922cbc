// EpochPlan: an epoch's mini-batches sampled once ahead of time, for their node ids alone, so that
// the future is known: which rows each window will miss under the cache's policy when every next
// use is known (Belady), and by which plan it costs the device least to bring them.
//
// What is kept until a window is fetched, in scratch files without a name, is a few bytes a row:
// its place in the cache, and the ids of those that are missing. The batches themselves are kept by
// the sampler, or sampled again: that is a pure function of (seed, epoch, batch). Memory: a
// window's lists, and four bytes a node id in a range (ranges so wide that they fit).
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
  std::function<bool()> stopped;   ///< asked now and then: throws kInterrupted when it says so
  TraceWriter* trace = nullptr;    ///< borrowed; may be null
};

class EpochPlan {
 public:
  /// Goes through the epoch from `where` on, and leaves `windows` at its begin. The caches know no
  /// rows then, but their tables may hold some. @pre they were forgotten; memory that they still
  /// hold is used beyond `buffer_bytes`. Throws Error.
  static std::unique_ptr<EpochPlan> make(GraphData::State& data,
                                         WindowSource& windows,
                                         const LoaderStart& where,
                                         const WindowLimits& limits,
                                         const DeviceProfile& device,
                                         const EpochPlanOptions& options,
                                         MemoryLedger& ledger);
  ~EpochPlan();

  std::size_t num_windows() const;
  /// Mini-batches of a window.
  std::uint64_t batches(std::size_t window) const;
  WindowPlan plan(std::size_t window, std::size_t type) const;
  /// For a sweep: the gap to read through, bytes.
  std::uint32_t gap(std::size_t window, std::size_t type) const;
  /// Where the window's rows belong in the cache: `places` [rows], by number; `wanted`: those that
  /// are to be read, ascending. Returns what the cache found. Each window once, in order.
  RowCache::Admission rows(std::size_t window,
                           std::size_t type,
                           std::span<std::uint32_t> places,
                           std::vector<WantedRow>& wanted);
  /// The packed rows of a type, or null. Run = window.
  PackedRows* packed(std::size_t type);
  /// What was chosen and why, with the figures, a line a node type.
  const std::vector<std::string>& reasons() const;
  double seconds() const;                  ///< that planning and packing took
  std::vector<StageTimes> stages() const;  ///< plan, repack: what they were busy for
  std::uint64_t bytes_read() const;        ///< scratch and packed rows, so far
  std::uint64_t bytes_written() const;
  std::uint64_t requests() const;
  RequestLatency latency() const;  ///< of packed rows that were read back

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
