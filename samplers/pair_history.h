// PairHistory: the events of a relation by source, by destination and by pair, each list in (time,
// edge id) order: what a score of a pair at a time is computed from, exactly.
//
// All questions have a bound, a place in (time, edge id): nothing at it or behind it is seen, so
// that no answer depends on what came later. An answer is found by binary search. Immutable: any
// number of threads may use one. Torch-free.
#pragma once

#include "core/threads.h"
#include "samplers/temporal_graph.h"
#include "samplers/temporal_sampler.h"

#include <sluice/array.h>
#include <sluice/memory.h>
#include <sluice/query.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// Which events count as a node's, of relations between nodes of one type. Of two types both are
/// the same.
enum class PairDirection {
  kForward,  ///< a source's as a source, a destination's as a destination
  kEither    ///< both of both
};

/// An event of a list; who else took part.
struct PairEvent {
  std::int64_t time;
  std::uint64_t id;
  std::uint64_t other;
};

/// A node's events: two lists, each in (time, edge id) order. A self edge is in both.
struct PairLists {
  std::span<const PairEvent> first, second;

  std::size_t count() const { return first.size() + second.size(); }
  /// When the last one was.
  std::optional<std::int64_t> last() const;
};

class PairHistory {
 public:
  /// 72 bytes an event and 16 a node, charged to `ledger` as "pair history". O(E log degree).
  /// @param graph in-edges by destination @param num_sources neighbours of `graph` are below it
  /// Errors: kData for a neighbour beyond, kResource.
  static Result<PairHistory> make(const TemporalGraph& graph,
                                  std::uint64_t num_sources,
                                  ThreadArena& arena,
                                  MemoryLedger* ledger);

  std::uint64_t num_sources() const { return count_of(source_offsets_); }
  std::uint64_t num_destinations() const { return count_of(destination_offsets_); }
  std::uint64_t num_events() const { return static_cast<std::uint64_t>(to_.numel()) / kBytes; }
  /// Steps: for each two events of a source that follow each other one from the former's
  /// destination to the latter's, with the latter's time and id. @pre between nodes of the
  /// destinations' type
  Result<PairHistory> steps(ThreadArena& arena, MemoryLedger* ledger) const;
  /// Whether sources and destinations are nodes of one type.
  bool one_type() const { return one_type_; }

  // Events below the bound. A node that is not there has none.

  std::span<const PairEvent> from(std::uint64_t source, const TemporalCut& bound) const;
  std::span<const PairEvent> to(std::uint64_t destination, const TemporalCut& bound) const;
  /// `other` is the destination.
  std::span<const PairEvent> between(std::uint64_t source,
                                     std::uint64_t destination,
                                     const TemporalCut& bound) const;

  // All events: what is found is a stretch of these.
  std::span<const PairEvent> all_from() const { return whole(from_); }
  std::span<const PairEvent> all_to() const { return whole(to_); }
  std::span<const PairEvent> all_pairs() const { return whole(pairs_); }

  /// All of a source's, by (destination, time, edge id).
  std::span<const PairEvent> pairs_from(std::uint64_t source) const {
    return list(source_offsets_, pairs_, source);
  }

  PairLists of_source(std::uint64_t node, PairDirection direction, const TemporalCut& bound) const;
  PairLists of_destination(std::uint64_t node,
                           PairDirection direction,
                           const TemporalCut& bound) const;
  /// Of kEither also those from the destination to the source.
  PairLists of_pair(std::uint64_t source,
                    std::uint64_t destination,
                    PairDirection direction,
                    const TemporalCut& bound) const;

 private:
  static constexpr std::uint64_t kBytes = sizeof(PairEvent);

  PairHistory() = default;
  static std::span<const PairEvent> whole(const Array& events) {
    return {static_cast<const PairEvent*>(events.data()), events.bytes() / kBytes};
  }

  static std::uint64_t count_of(const Array& offsets) {
    return static_cast<std::uint64_t>(offsets.numel()) - 1;
  }
  static std::span<const PairEvent> list(const Array& offsets,
                                         const Array& events,
                                         std::uint64_t node);

  bool one_type_ = true;
  Array source_offsets_, destination_offsets_;  // u64 [nodes + 1]
  Array from_;                                  // of each source, by (time, id)
  Array pairs_;                                 // of each source, by (destination, time, id)
  Array to_;                                    // of each destination, by (time, id)
};

/// The last `count` of a node's events, the latest first; a self edge once.
void latest_events(const PairLists& lists, std::size_t count, std::vector<PairEvent>& out);

/// Up to where each query may look. @param events [q] edge ids of the events asked about, for
/// kEventOrder @param cut the first query's place, for kBatchLag
TemporalCut visible_bound(TemporalVisibility visibility,
                          std::int64_t time,
                          std::uint64_t event,
                          const TemporalCut& cut);

}  // namespace sluice
