// LoaderStats: what a loader counted: bytes, requests, what its caches held, and what each stage
// spent its time on. Values.
#pragma once

#include <sluice/request_latency.h>
#include <sluice/snapshot.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// Time a stage spent working, waiting for input, and waiting for room in its output queue, in
/// seconds.
struct StageTimes {
  std::string name;
  double busy = 0;
  double starved = 0;
  double blocked = 0;
};

/// What windows found in the row caches: distinct rows, summed over windows. The four kinds add up
/// to those wanted.
struct CacheCounts {
  std::uint64_t wanted = 0;
  std::uint64_t hits_window = 0;   ///< there, as the window before asked for them too
  std::uint64_t hits_kept = 0;     ///< there, as the policy kept them for longer
  std::uint64_t misses_first = 0;  ///< not there since the cache was last emptied: at a run's
                                   ///< begin, and at that of each epoch that is planned, unless it
                                   ///< goes on from the one before (LoaderStart::next_follows)
  std::uint64_t misses_again = 0;  ///< read before, but they had given way

  CacheCounts& operator+=(const CacheCounts& more);
  friend bool operator==(const CacheCounts&, const CacheCounts&) = default;
};

/// Since the last start().
struct LoaderStats {
  std::uint64_t batches = 0;           ///< delivered
  std::uint64_t bytes_read = 0;        ///< from disk: features, edges, repacked rows, epoch plans
  std::uint64_t bytes_useful = 0;      ///< of feature rows delivered in batches
  std::uint64_t bytes_to_device = 0;   ///< copied to a GPU, and read by it from pinned memory
  std::uint64_t batches_gathered = 0;  ///< on their way, features gathered by the GPU itself
  std::uint64_t bytes_written = 0;     ///< scratch of epoch plans and repacked rows
  std::uint64_t requests = 0;
  std::uint64_t windows = 0;
  std::uint64_t windows_swept = 0;   ///< of these, read through gaps
  std::uint64_t windows_packed = 0;  ///< of these, from repacked rows
  RequestLatency latency;            ///< of each of the requests
  CacheCounts cache;
  SnapshotStats snapshot;  ///< of the snapshot cache of edges, where there is one
  std::uint64_t batches_xxh3 =
      0;  ///< chained over delivered batches, from `LoaderStart::batches_xxh3`
  /// sample; plan: sampling ahead and choosing; repack: the pass over the table; fetch; assemble.
  /// Plan and repack are busy beside the others where a part of the epoch, or the epoch after, is
  /// planned while this one is consumed. A trainer adds its own: step.
  std::vector<StageTimes> stages;
  std::vector<std::string> plans;  ///< what was chosen for the epoch, and why
};

}  // namespace sluice
