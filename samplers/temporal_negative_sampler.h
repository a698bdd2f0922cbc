// TemporalNegativeSampler: destinations that a source could be mistaken to meet at a time: ones it
// met in training (historical), or has met since (inductive).
//
// After Poursafaei, Huang, Pelrine, Rabbany, "Towards better evaluation for dynamic link
// prediction", NeurIPS 2022 (EdgeBank), with the source kept, as TGB (Huang et al., 2023) has it.
// For an event (s, d) at time t, with training being all events before `training_end`:
//   historical  d' that s met in training before t;
//   inductive   d' that s met at training_end or later and before t, and never in training;
// in both, d' is not d, and no event of s and d' is at t. Each such d' is equally likely, however
// often they met. Nothing from t on decides but what is left out for being at t. Immutable: any
// number of threads may use one.
#pragma once

#include "core/threads.h"
#include "samplers/temporal_graph.h"

#include <sluice/array.h>
#include <sluice/memory.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

enum class TemporalNegativeKind { kHistorical, kInductive };

class TemporalNegativeSampler {
 public:
  struct Request {
    TemporalNegativeKind kind = TemporalNegativeKind::kHistorical;
    std::int64_t training_end = 0;  ///< ticks
    std::uint64_t epoch = 0;
    // The events to be mistaken for, an entry each.
    std::span<const std::uint64_t> sources;
    std::span<const std::uint64_t> destinations;
    std::span<const std::int64_t> times;
    /// Negatives an event, drawn independently: they may repeat.
    std::size_t count = 1;
  };

  /// Of the negatives of a call.
  struct Report {
    /// Sources with nobody to be drawn: a node that is anybody's destination was taken instead,
    /// equally likely, but not d nor one that s meets at t.
    std::uint64_t random = 0;
    /// Not even that: kNoNode.
    std::uint64_t none = 0;
  };

  /// An index of who met whom first when: 16 bytes a distinct pair, charged to `ledger` as
  /// "negatives". O(E + P log P). @param graph in-edges by destination; of an undirected relation
  /// either end is a source. @param num_sources neighbours of `graph` are below it; @param key of
  /// the run's seed; `relation` keys the draws. Errors: kData for a neighbour beyond, kResource.
  static Result<TemporalNegativeSampler> make(TemporalGraph graph,
                                              std::uint64_t num_sources,
                                              RandomKey key,
                                              std::uint64_t relation,
                                              ThreadArena& arena,
                                              MemoryLedger* ledger);

  /// Negatives into `out`, [events, count]: a function of (graph, key, relation, kind, epoch,
  /// event, draw). O(log degree + events at one time) a negative, unless most of whom the source
  /// met are at t. Errors: kUsage for spans whose sizes do not agree.
  Result<Report> draw(const Request& request,
                      std::span<std::uint64_t> out,
                      ThreadArena& arena) const;

 private:
  // A source's first event with a destination.
  struct Meeting {
    std::int64_t time;
    std::uint64_t destination;
  };
  struct Event {
    std::uint64_t source;
    std::uint64_t destination;
    std::int64_t time;
  };

  explicit TemporalNegativeSampler(TemporalGraph graph) : graph_(std::move(graph)) {}

  Result<void> index_meetings(std::uint64_t num_sources, ThreadArena& arena, MemoryLedger* ledger);
  Result<void> list_destinations(MemoryLedger* ledger);
  std::span<const Meeting> candidates(const Request& request, const Event& event) const;
  bool allowed(const Event& event, std::uint64_t destination) const;
  template <class At>
  std::uint64_t draw_allowed(const Event& event, std::size_t size, RandomKey key, At at) const;

  TemporalGraph graph_;
  RandomKey key_{0};
  Array offsets_;       // u64 [num_sources + 1], into meetings_
  Array meetings_;      // of each source, by (time, destination)
  Array destinations_;  // u64: all nodes with in-edges
};

}  // namespace sluice
