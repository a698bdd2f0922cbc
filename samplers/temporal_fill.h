// The inner loop of TemporalSampler: queries to rows, in groups whose cache misses are under way
// together.
//
// Called by TemporalSampler, which has checked all sizes. Pure functions; a chooser serves one
// thread.
#pragma once

#include "samplers/temporal_rows.h"
#include "samplers/temporal_sampler.h"

#include <sluice/random.h>
#include <sluice/samplers/choose_positions.h>

#include <cstddef>
#include <cstdint>
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
