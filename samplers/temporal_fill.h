// The inner loop of TemporalSampler: queries to rows, in groups whose cache misses are under way
// together.
//
// Called by TemporalSampler, which has checked all sizes. Pure functions; a chooser serves one
// thread.
#pragma once

#include "samplers/temporal_rows.h"
#include "samplers/temporal_sampler.h"

#include <sluice/no_node.h>
#include <sluice/random.h>
#include <sluice/samplers/choose_positions.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace sluice {

/// A hop, with all that its answers depend on but the query.
struct TemporalHopRule {
  TemporalStrategy strategy = TemporalStrategy::kRecent;
  std::size_t count = 0;
  std::int64_t window = 0;         ///< 0: none
  bool by_event = false;           ///< bounds are (time, event id) of the query, not its time alone
  bool inclusive = false;          ///< events of the query's own time are seen, all of them
  std::optional<TemporalCut> cut;  ///< bounds of queries that are not before its time
  RandomKey key{0};                ///< of seed, epoch, hop and relation
};

/// The events before (time, id) are visible.
struct TemporalBound {
  std::int64_t time = 0;
  std::uint64_t id = 0;  ///< 0: those of the time itself are not; kNoEdge: all of them are
};

inline TemporalBound bound_of(const TemporalHopRule& rule,
                              const TemporalQueries& queries,
                              std::size_t query) {
  TemporalBound bound{queries.times[query], rule.by_event ? queries.event_ids[query] : 0};
  if (rule.inclusive) bound.id = kNoEdge;
  if (rule.cut && bound.time >= rule.cut->time) bound = {rule.cut->time, rule.cut->event};
  return bound;
}

/// Of the draws of a row.
inline RandomKey row_key(const TemporalHopRule& rule,
                         const TemporalQueries& queries,
                         std::size_t query) {
  return rule.key.with(queries.nodes[query]).with(static_cast<std::uint64_t>(queries.times[query]));
}

/// a - b, or what of 64 bits is nearest to it.
inline std::int64_t minus_saturating(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < b ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

/// Fills the rows of queries [begin, end). @pre sizes agree; chooser.reserve(rule.count) where the
/// strategy is uniform; rule.by_event needs queries.event_ids
void fill_temporal_rows(const TemporalView& view,
                        const TemporalHopRule& rule,
                        const TemporalQueries& queries,
                        const TemporalRows& out,
                        std::size_t begin,
                        std::size_t end,
                        PositionChooser& chooser);

}  // namespace sluice
