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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// Positions [begin, end) of a target node's in-edges in the relation's edge arrays.
struct EdgeRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t degree() const { return end - begin; }
};

/// The nodes that have lists, where these are few among a type's: doubly compressed columns (Buluc
/// and Gilbert, IPDPS 2008). List i is that of the i-th of them.
struct ListedNodes {
  std::span<const std::uint32_t> nodes32;  ///< ascending; of the two one is in use
  std::span<const std::uint64_t> nodes64;
  /// How many of them are below each multiple of 2^shift. Empty: every node has a list.
  std::span<const std::uint64_t> directory;
  unsigned shift = 0;

  bool in_use() const { return !directory.empty(); }
  std::size_t size() const { return nodes64.size() + nodes32.size(); }
  std::uint64_t node(std::size_t list) const {
    return nodes32.empty() ? nodes64[list] : nodes32[list];
  }
  /// How many are below `node`. @pre node is below the type's count
  std::size_t rank(std::uint64_t node) const {
    const std::uint64_t* bucket = directory.data() + (node >> shift);
    return rank_among(node, bucket[0], bucket[1]);
  }
  /// The same, where it is known that [first, last] has it.
  std::size_t rank_among(std::uint64_t node, std::size_t first, std::size_t last) const {
    const auto search = [&](const auto* nodes) {
      return static_cast<std::size_t>(std::lower_bound(nodes + first, nodes + last, node) - nodes);
    };
    return nodes32.empty() ? search(nodes64.data()) : search(nodes32.data());
  }
  // rank() reads the directory and then some nodes: their address is known by the former.
  void prefetch_nodes(std::uint64_t node) const { prefetch_at(directory[node >> shift]); }
  void prefetch_at(std::size_t list) const {
    if (nodes32.empty()) {
      __builtin_prefetch(nodes64.data() + list);
    } else {
      __builtin_prefetch(nodes32.data() + list);
    }
  }
  /// What is at `node`: an empty range between its neighbours' lists where it has none.
  /// @param offsets of the lists: size() + 1
  EdgeRange range(std::span<const std::uint64_t> offsets, std::uint64_t node) const {
    return range_at(offsets, node, rank(node));
  }
  EdgeRange range_at(std::span<const std::uint64_t> offsets,
                     std::uint64_t of,
                     std::size_t its_rank) const {
    const bool there = its_rank < size() && node(its_rank) == of;
    return {offsets[its_rank], offsets[there ? its_rank + 1 : its_rank]};
  }
};

/// A CSC graph in RAM. Of the two neighbour spans one is in use: 32 bits where every source id
/// fits.
struct CscView {
  std::span<const std::uint64_t> offsets;  ///< num_targets + 1; of `listed` ones their number + 1
  std::span<const std::uint32_t> neighbours32;
  std::span<const std::uint64_t> neighbours64;
  /// By position too; at most one is in use. Both empty: ask Topology::edge_ids().
  std::span<const std::uint32_t> edge_ids32;
  std::span<const std::uint64_t> edge_ids64;
  ListedNodes listed{};  ///< in use where few targets have in-edges: `offsets` are of these alone

  /// Where a target's in-edges are, however the offsets are kept.
  EdgeRange range(std::uint64_t target) const {
    if (listed.in_use()) return listed.range(offsets, target);
    return {offsets[target], offsets[target + 1]};
  }
  /// Whose in-edges the list of offsets[list] to offsets[list + 1] holds.
  std::uint64_t target_of(std::size_t list) const {
    return listed.in_use() ? listed.node(list) : list;
  }

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

  /// Scratch that it keeps for the next call, charged as "sampler workspace". Called while nobody
  /// samples.
  virtual std::uint64_t workspace_bytes() const { return 0; }

  /// What it stands on, down to what reads files: itself, unless it shows another one's edges.
  virtual Topology& stored() { return *this; }
};

}  // namespace sluice
