// Scatter: the first pass of the conversion. Edges of a view go, packed, to the end of their target
// ranges, in input order, by many threads at a time.
//
// A round counts first and then writes, so that every thread knows its own places: no locks, no
// atomics, and the same bytes for any number of threads. Each thread collects a cache line a range
// and stores whole lines past the cache.
#pragma once

#include "core/threads.h"
#include "prep/convert/line_writer.h"
#include "prep/edge_stream.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

struct ScatterRules {
  std::uint64_t num_sources = 0;
  std::uint64_t num_targets = 0;
  bool both_ways = false;   ///< each edge also the other way round, self loops once
  bool drop_loops = false;  ///< @pre both of one node type
  bool one_type = false;    ///< source and target are of one type: a self loop is one
};

/// The first edge of a view with an id that is too large, for the caller to name.
struct BadEdge {
  std::uint64_t index;  ///< within the view
  std::uint64_t source, target;
};

class Scatter {
 public:
  /// All must outlive the scatter.
  /// @param round_edges counted and written at a time, at most: their records are all in memory
  Scatter(RangeStore& store,
          const ScatterRules& rules,
          std::uint64_t round_edges,
          ThreadArena& arena,
          MemoryLedger* ledger);

  /// Adds the edges of a view; `first_id` is the id of its first. On a bad edge nothing is added.
  std::optional<BadEdge> add(const EdgeView& view, std::uint64_t first_id);

  std::uint64_t loops_dropped() const noexcept { return loops_dropped_; }

  /// Memory that the scatter takes beside the store.
  static std::uint64_t memory_needed(std::uint64_t num_ranges, int threads);

 private:
  template <class Id, bool kPlain>
  std::optional<BadEdge> add_round(const EdgeSpan<Id>& span, std::uint64_t first_id);
  template <class Id>
  std::optional<BadEdge> add_span(EdgeSpan<Id> span, std::uint64_t first_id);

  RangeStore& store_;
  ScatterRules rules_;
  std::uint64_t round_edges_;
  ThreadArena& arena_;
  Charge charge_;
  LineMemory lines_;
  std::vector<std::uint32_t> offsets_;  // [piece][range]: counts, then where the piece begins
  std::vector<std::uint64_t> more_;     // [range]
  std::uint64_t loops_dropped_ = 0;
};

}  // namespace sluice
