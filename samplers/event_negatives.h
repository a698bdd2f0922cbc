// EventNegatives: destinations that stand beside events when these are asked about: columns of
// several kinds, as boards of temporal link prediction want them.
//
// Drawn by (key, kind, epoch, event, number), whoever is beside the event in its mini-batch. The
// candidates of random kinds are the distinct destinations of the relation, or all nodes of their
// type. Immutable: any number of threads may use one. Torch-free.
#pragma once

#include "core/threads.h"
#include "samplers/mixed_negatives.h"
#include "samplers/temporal_graph.h"
#include "samplers/temporal_negative_sampler.h"

#include <sluice/array.h>
#include <sluice/memory.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

enum class EventNegativeKind {
  kRandom,      ///< any candidate alike; it may be the true destination
  kOther,       ///< any but the true destination
  kHistorical,  ///< TemporalNegativeKind::kHistorical
  kInductive,   ///< TemporalNegativeKind::kInductive
  kAll,         ///< all candidates, but those that the source meets at the event's time
  kMixed,       ///< up to half met in training, all distinct: MixedNegatives
  kEverybody,   ///< all candidates, the true one among them
  kStored       ///< a list an event
};

struct EventColumns {
  EventNegativeKind kind = EventNegativeKind::kRandom;
  std::size_t count = 1;  ///< columns; of kAll and kEverybody as many as there are candidates
  double share = 1;       ///< of events that have them, drawn by event: the same in each epoch
};

enum class EventCandidates {
  kDestinations,  ///< nodes with an event, of any part
  kNodes
};

struct EventNegativeOptions {
  std::vector<EventColumns> columns;
  EventCandidates candidates = EventCandidates::kDestinations;
  std::int64_t training_end = 0;  ///< time of the first event that is not for training
  RandomKey key{1};               ///< of the run's seed and the part
  Array stored = {};              ///< u64 [events of the part, columns of kStored]
};

/// Events, an entry each.
struct AskedEvents {
  std::span<const std::uint64_t> numbers;  ///< in their part, in the order of time
  std::span<const std::uint64_t> sources, destinations;
  std::span<const std::int64_t> times;
  std::span<const std::uint64_t> ids;
};

class EventNegatives {
 public:
  /// The candidates are charged to `ledger` as "negatives", 8 bytes each, and what
  /// TemporalNegativeSampler and MixedNegatives take where their kinds are wanted. @param graph
  /// in-edges by destination @param num_sources neighbours of `graph` are below it Errors: kUsage
  /// for stored negatives of other sizes, kData, kResource.
  static Result<EventNegatives> make(std::shared_ptr<const TemporalGraph> graph,
                                     std::uint64_t num_sources,
                                     EventNegativeOptions options,
                                     ThreadArena& arena,
                                     MemoryLedger* ledger);

  const std::vector<EventColumns>& columns() const { return options_.columns; }
  /// All columns.
  std::size_t count() const;
  std::span<const std::uint64_t> candidates() const { return candidates_.as<std::uint64_t>(); }

  /// [events, count()], kind by kind; kNoNode where there is none. Errors: kUsage for sizes that do
  /// not agree.
  Result<void> draw(std::uint64_t epoch,
                    const AskedEvents& events,
                    std::span<std::uint64_t> out) const;

 private:
  explicit EventNegatives(std::shared_ptr<const TemporalGraph> graph) : graph_(std::move(graph)) {}

  Result<void> list_candidates(MemoryLedger* ledger);
  std::uint64_t draw_other(RandomKey key, std::uint64_t number, std::uint64_t destination) const;
  bool meets(std::uint64_t source, std::uint64_t destination, std::int64_t time) const;
  Result<void> fill(const EventColumns& columns,
                    std::uint64_t epoch,
                    const AskedEvents& events,
                    std::size_t first,
                    std::span<std::uint64_t> out) const;
  Result<void> fill_by_history(const EventColumns& columns,
                               std::uint64_t epoch,
                               const AskedEvents& events,
                               std::size_t first,
                               std::span<std::uint64_t> out) const;

  std::shared_ptr<const TemporalGraph> graph_;
  EventNegativeOptions options_;
  Array candidates_;  // u64, ascending
  std::optional<TemporalNegativeSampler> history_;
  std::optional<MixedNegatives> mixed_;
};

}  // namespace sluice
