// Topology: one relation's in-edges (CSC), wherever they are kept. What samplers ask for
// neighbours.
//
// In two steps, so that a topology on disk reads only the pages it must: first where a node's
// in-edges are, then, once positions are chosen, who is there. A topology in RAM also shows itself
// whole (`resident()`), for the hot path. Read-only and thread-safe; on disk, calls that read wait
// for each other, so ask for many positions at once. One may offer other in-edges from round to
// round (samplers/snapshot): whoever samples says which round it is (`begin_round()`).
#pragma once

#include <sluice/error.h>
#include <sluice/request_latency.h>

#include <cstdint>
#include <span>

namespace sluice {

/// Positions [begin, end) of a target node's in-edges in the relation's edge arrays.
struct EdgeRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t degree() const { return end - begin; }
};

/// A CSC graph in RAM. Of the two neighbour spans one is in use: 32 bits where every source id
/// fits.
struct CscView {
  std::span<const std::uint64_t> offsets;  ///< num_targets + 1
  std::span<const std::uint32_t> neighbours32;
  std::span<const std::uint64_t> neighbours64;
  /// By position too; at most one is in use. Both empty: ask Topology::edge_ids().
  std::span<const std::uint32_t> edge_ids32;
  std::span<const std::uint64_t> edge_ids64;

  std::uint64_t neighbour(std::uint64_t position) const {
    return neighbours32.empty() ? neighbours64[position] : neighbours32[position];
  }
};

/// What reading neighbours and edge ids cost so far.
struct TopologyStats {
  std::uint64_t positions = 0;  ///< delivered
  std::uint64_t page_hits = 0;  ///< pages that were in the cache, counted once a batch of positions
  std::uint64_t bytes_read = 0;  ///< from the disk
  std::uint64_t requests = 0;    ///< reads issued to the disk
  RequestLatency latency;        ///< of each of them

  TopologyStats& operator+=(const TopologyStats& more);
  TopologyStats operator-(const TopologyStats& before) const;
};

class Topology {
 public:
  virtual ~Topology() = default;

  virtual std::uint64_t num_sources() const = 0;
  virtual std::uint64_t num_targets() const = 0;
  virtual std::uint64_t num_edges() const = 0;

  /// The ranges of `targets`, in their order. @pre every target < num_targets(), out.size() ==
  /// targets.size()
  virtual Result<void> ranges(std::span<const std::uint64_t> targets, std::span<EdgeRange> out) = 0;

  /// The same of all in-edges the targets have, where ranges() offers a part of them.
  virtual Result<void> whole_ranges(std::span<const std::uint64_t> targets,
                                    std::span<EdgeRange> out) {
    return ranges(targets, out);
  }

  /// The source nodes at `positions`, in their order. @pre every position is in a range that was
  /// given
  virtual Result<void> neighbours(std::span<const std::uint64_t> positions,
                                  std::span<std::uint64_t> out) = 0;

  /// The edge ids at `positions`; the positions themselves where the relation stores none.
  virtual Result<void> edge_ids(std::span<const std::uint64_t> positions,
                                std::span<std::uint64_t> out) = 0;

  /// Says that samples of a round of an epoch come next. Returns the first later round that has to
  /// be begun anew. Called while nobody samples. Does nothing where all rounds see the same edges.
  virtual Result<std::uint64_t> begin_round(std::uint64_t /*epoch*/, std::uint64_t /*round*/) {
    return kEveryRound;
  }
  static constexpr std::uint64_t kEveryRound = ~std::uint64_t{0};

  /// The whole graph when it is in RAM, else null.
  virtual const CscView* resident() const { return nullptr; }

  /// All zero in RAM.
  virtual TopologyStats stats() const { return {}; }

  /// What it stands on, down to what reads files: itself, unless it shows another one's edges.
  virtual Topology& stored() { return *this; }
};

}  // namespace sluice
