// EventQueries: queries of events, each once an epoch, in the order of time, with other
// destinations beside them.
//
// A mini-batch is a stretch of the events: the first are in the first, in every epoch. Seeds are
// nodes at the times of their events; or nodes alone, for models that sample nothing: then a node
// is a seed once, and Queries::times tells when it is asked about.
#pragma once

#include "samplers/event_negatives.h"
#include "samplers/replay_queries.h"

#include <sluice/graph_schema.h>
#include <sluice/query.h>
#include <sluice/samplers/links.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace sluice {

enum class EventSeeds {
  kNodes,   ///< nodes alone
  kTimes,   ///< nodes at times
  kEvents,  ///< nodes at times, each of its own event
};

struct EventQueryOptions {
  std::size_t relation = 0;  ///< index into GraphSchema::relations
  std::int64_t batch_size = 200;
  EventSeeds seeds = EventSeeds::kTimes;
  std::shared_ptr<const EventNegatives> negatives = nullptr;  ///< null: none
  /// Mini-batches of these events in the place of all, from the whole of their time.
  std::optional<ReplayedQueries> replayed = std::nullopt;
};

class EventQueries final : public QuerySource {
 public:
  /// @param links with times and ids, in the order of time. Throws kUsage for others, and for a
  /// batch size of 0.
  EventQueries(const GraphSchema& schema,
               std::shared_ptr<const Links> links,
               EventQueryOptions options);

  std::uint64_t num_batches() const override;
  std::uint64_t num_queries() const override;
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* ledger) const override;

 private:
  struct Making;

  std::uint64_t size_of(std::uint64_t index) const;
  void choose_events(std::uint64_t epoch,
                     std::uint64_t index,
                     std::span<std::uint64_t> numbers) const;
  Result<void> find_events(Making& making) const;
  Result<void> draw_negatives(Making& making) const;
  Result<void> list_ends(Making& making) const;

  std::shared_ptr<const Links> links_;
  EventQueryOptions options_;
  std::size_t num_types_;
  std::size_t source_type_;
  std::size_t destination_type_;
};

}  // namespace sluice
