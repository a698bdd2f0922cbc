// What temporal samplers are asked, and the rows they answer with.
//
// A query is a node at a time; its answer is a row of earlier events, ascending in (time, edge id).
// The rows of a hop are the queries of the next one as they stand: a neighbour at the time of its
// edge. Plain views of the caller's memory.
#pragma once

#include <sluice/query.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

/// Spans of one length, an entry a query.
struct TemporalQueries {
  std::span<const std::uint64_t> nodes;  ///< kNoNode, or any id that is no node: no neighbours
  std::span<const std::int64_t> times;   ///< ticks
  /// The event that each query belongs to; read for TemporalVisibility::kEventOrder alone.
  std::span<const std::uint64_t> event_ids = {};

  std::size_t size() const { return nodes.size(); }
};

struct TemporalRequest {
  std::uint64_t epoch = 0;  ///< uniform draws differ by epoch
  TemporalQueries queries;
  /// The batch's first event: those before it are visible, the events of the batches before. Needed
  /// for TemporalVisibility::kBatchLag alone.
  std::optional<TemporalCut> cut = {};
};

/// Where a hop's answers go: [queries] counts, and [queries, count] of the others, row after row. A
/// row begins with its events, oldest first; the rest is padding: kNoNode, kNoEdge, time 0, delta
/// 0. All but counts and neighbours may be left empty and are then not written.
struct TemporalRows {
  std::span<std::int32_t> counts;
  std::span<std::uint64_t> neighbours;
  std::span<std::uint64_t> edge_ids = {};
  std::span<std::int64_t> times = {};
  /// Query time - event time: never negative; at most 2^63 - 1, where the difference is more.
  std::span<std::int64_t> deltas = {};

  /// The queries of the hop after. @pre none of the spans is empty
  TemporalQueries as_queries() const { return {neighbours, times, edge_ids}; }
};

/// Moves the rows' events together, in place and in their order: those of query i are then
/// [offsets[i], offsets[i + 1]). What follows the last event is unspecified. Returns their number.
/// @pre offsets.size() == rows.counts.size() + 1
std::uint64_t pack_rows(const TemporalRows& rows, std::span<std::int64_t> offsets);

}  // namespace sluice
