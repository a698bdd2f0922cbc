// EventParts: the events of a relation with times, divided into train, valid and test.
//
// Parts are stretches of time, or what the dataset's edge split lists; within each the events are
// in the order of time. Made from the data of a run, then read.
#pragma once

#include "samplers/event_links.h"

#include <sluice/dataset.h>
#include <sluice/edge_rule.h>
#include <sluice/memory.h>
#include <sluice/options.h>
#include <sluice/samplers/links.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace sluice::tasks {

enum class SplitBy {
  kRatio,     ///< shares of the events in (time, edge id) order
  kQuantile,  ///< up to quantiles of the times, as TGN and TGB do (numpy.quantile, linear)
  kTime,      ///< up to given times
  kStored     ///< the dataset's edge split
};

struct EventSplitOptions {
  SplitBy by = SplitBy::kRatio;
  std::vector<double> shares{0.7, 0.15, 0.15};  ///< of train, valid and test
  std::vector<std::int64_t>
      times{};  ///< the last of train and of valid; of three first that before
  void describe(Schema& schema);
  /// Throws kUsage for shares or times that make no split.
  void check() const;
};

/// Where train, valid and test begin among things in the order of time, and where the last ends:
/// [0, or where a past ends that is in no part; a, b, count]. @param time when each is, never
/// before the one in front of it @pre options.check(), and not kStored
std::array<std::uint64_t, 4> part_ends(const EventSplitOptions& options,
                                       std::uint64_t count,
                                       const std::function<std::int64_t(std::uint64_t)>& time);

class EventParts {
 public:
  /// @param split the dataset's, of kStored: ids of the relation's edges; where none are listed for
  /// training, those that no other part has are. Throws kUsage where training gets no events, and
  /// for ids that no event has; kResource.
  EventParts(const EventLinks& all,
             const EventSplitOptions& options,
             const EdgeSplit* split,
             MemoryLedger* ledger);

  /// Each part of both, in the order of time; neither is of kStored. Throws kResource.
  static EventParts joined(const EventParts& one, const EventParts& other, MemoryLedger* ledger);

  /// Events of a part; of Part::kAll all of them.
  std::shared_ptr<const Links> links(Part part) const;
  std::uint64_t count(Part part) const { return links(part)->size(); }
  /// Times of the first and the last event of training, and of the first of the others; that of a
  /// split without others is the greatest there is.
  std::int64_t training_first() const { return training_first_; }
  std::int64_t training_last() const { return training_last_; }
  std::int64_t training_end() const { return training_end_; }

  /// As far as the number of events tells.
  static std::uint64_t expected(Part part, const EventSplitOptions& options, std::uint64_t events);

 private:
  EventParts() = default;
  void take_listed(const EventLinks& all, const EdgeSplit& split, MemoryLedger* ledger);
  void note_times();

  std::array<std::shared_ptr<const Links>, 4> links_;  // by Part
  std::int64_t training_first_ = 0, training_last_ = 0, training_end_ = 0;
};

}  // namespace sluice::tasks
