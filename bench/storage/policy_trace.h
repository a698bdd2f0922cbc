// What an epoch of sampled mini-batches would read from a feature table under each cache policy and
// plan, counted from one trace: our own RowCache, and the policies of peers.
#pragma once

#include <sluice/dataset.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::bench {

/// Distinct nodes of each mini-batch, in order.
struct EpochRows {
  std::uint64_t nodes = 0;
  std::vector<std::uint64_t> seeds;
  std::vector<std::vector<std::uint32_t>> batches;
  std::uint64_t total() const;
};

struct TraceWork {
  std::vector<std::int64_t> fanout{15, 10, 5};
  std::uint64_t batch_size = 1024;
  double seed_share = 0.05;  ///< of all nodes
  int threads = 2;
};

/// Samples one epoch of a homogeneous dataset.
EpochRows sample_epoch(const Dataset& dataset, const TraceWork& work);

/// How often each node is somebody's neighbour.
std::vector<std::uint32_t> neighbour_counts(const Dataset& dataset);

/// The trace and the counts as they are where nodes are numbered hot first, and among equals seeds
/// first: the order "degree" of a prepared dataset.
void order_by_degree(EpochRows& trace, std::vector<std::uint32_t>& counts);

struct PolicyWork {
  std::uint32_t row_bytes = 512;
  std::uint64_t cache_rows = 0;
};

/// What an epoch moves.
struct Moved {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::uint64_t requests = 0;
  std::uint64_t missed_rows = 0;
  std::uint64_t windows = 0;
  std::uint64_t total() const { return read + written; }
};

/// The rows of the hottest nodes stay; of the others each page is read once a mini-batch.
Moved static_degree(const EpochRows& trace,
                    const std::vector<std::uint32_t>& counts,
                    const PolicyWork& work);

/// Ginex (Park et al., VLDB 2022) with one superbatch an epoch: after each mini-batch the cache
/// keeps, of its own rows and the mini-batch's, those used soonest (Belady's choice; no policy
/// misses fewer); a page a missed row.
Moved ginex(const EpochRows& trace, const PolicyWork& work);

/// RowCache as the loader drives it.
struct WindowWork {
  std::string policy = "belady";
  bool whole_epoch_known = true;  ///< next uses from a trace; else one window ahead
  std::uint64_t window_rows = 0;  ///< the most distinct rows of a window
  std::uint64_t window_batches = 1024;
};

/// Plan "direct": pages, neighbours merged. "sweep": gaps of up to `gap_pages` read through.
/// "repack": one pass over what is missed in the epoch, rows written once and read back, but for
/// the first ones, which go straight into the cache.
struct PlannedBytes {
  Moved direct, sweep, repack;
};
PlannedBytes windows(const EpochRows& trace,
                     const std::vector<std::uint32_t>& counts,
                     const PolicyWork& work,
                     const WindowWork& how,
                     std::uint64_t gap_pages);

}  // namespace sluice::bench
