// The snapshot cache of topology: in-edges of hot nodes kept in RAM beside a topology on disk.
//
// GraphSnapShot (Liu, Xia, Xie 2024) keeps a sampled subgraph in RAM and redraws it now and then.
// Here a record is the in-edges of one node in one relation, or so many of them, drawn uniformly
// without replacement. What a record holds is a pure function of (seed, epoch, period, relation,
// node): never of the budget, of threads, or of where the edges are kept. Values; see
// samplers/snapshot/ for what it costs in accuracy.
#pragma once

#include <sluice/options.h>

#include <cstdint>

namespace sluice {

enum class SnapshotMode {
  kOff,
  kFull,     ///< whole lists: the same mini-batches as without
  kRefresh,  ///< records of a few edges, all drawn anew every period
  kOnTheFly  ///< records of a few edges, a share of them drawn anew every period
};

/// What nodes are chosen by.
enum class SnapshotHotness {
  kDegree,    ///< how often a node is the source of an edge
  kLookAhead  ///< how often the first epoch's mini-batches ask for it
};

/// Table `[sampler] snapshot`.
struct SnapshotOptions {
  SnapshotMode mode = SnapshotMode::kOff;
  /// RAM for it, as a share of what all edges take in RAM; unless `bytes` says how much.
  double hot = 0.1;
  ByteSize bytes{0};
  /// Edges of a record: this many times the largest fanout. Larger is nearer to exact and takes
  /// more memory. Not for `full`.
  double alpha = 2;
  /// Mini-batches that a record serves before it is drawn anew. Shorter is nearer to exact and
  /// reads more. Not for `full`.
  std::int64_t period = 50;
  /// For `on_the_fly`: share of a record's edges that is drawn anew every period.
  double gamma = 0.25;
  SnapshotHotness hotness = SnapshotHotness::kDegree;

  /// Whether mini-batches are other ones than without.
  bool approximate() const {
    return mode == SnapshotMode::kRefresh || mode == SnapshotMode::kOnTheFly;
  }
  void describe(Schema& schema);
};

/// What a cache did so far. Sums over relations.
struct SnapshotStats {
  std::uint64_t records = 0;        ///< nodes it may keep
  std::uint64_t ram_bytes = 0;      ///< it takes, used or not
  std::uint64_t hits = 0;           ///< positions answered from records
  std::uint64_t misses = 0;         ///< positions asked of the topology behind it
  std::uint64_t miss_bytes = 0;     ///< read from the disk for them
  std::uint64_t filled = 0;         ///< times a record was drawn or read
  std::uint64_t edges_read = 0;     ///< edges read into records
  std::uint64_t refresh_bytes = 0;  ///< read from the disk for them
  std::uint64_t invalidated = 0;    ///< records dropped as their node's edges had changed
  double age_sum = 0;               ///< over hits: mini-batches since the edge was drawn
  std::uint64_t oldest = 0;         ///< the most of that

  SnapshotStats& operator+=(const SnapshotStats& more);
  /// What was counted since; sizes and the oldest are those of now.
  SnapshotStats operator-(const SnapshotStats& before) const;

  /// Of all positions; 0 without any.
  double hit_rate() const;
  /// Mini-batches since the edge of a hit was drawn. 0 where records never age.
  double mean_age() const;
  /// Edges read into records for each that was answered from one: at 1 nothing was used twice.
  double distinct_ratio() const;
  /// What the hits would have read at the misses' bytes a position: an estimate.
  double bytes_not_read() const;
  /// The same in pages of 4 KiB.
  double pages_not_read() const { return bytes_not_read() / 4096; }
};

}  // namespace sluice
