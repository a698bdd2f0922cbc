// The metrics of temporal link prediction, from scores of events and of other destinations beside
// each, kind by kind.
//
// - ap, auc: of all events of an evaluation beside a random destination each, as scikit-learn's
//   average_precision_score and roc_auc_score have them: equal scores are one threshold. Of other
//   kinds "ap.historical", "auc.inductive", ...
// - mrr, hits@10: the rank of an event among its ranked destinations, 1 + (#higher + #(higher or
//   equal)) / 2, its mean over events.
// - each again with ".new_nodes": of the events with an end that no training event has
//   (inductive); NaN where there are none.
// - loss: binary cross-entropy of events and random destinations, each kind's mean, halved sum.
#pragma once

#include "samplers/event_negatives.h"

#include <sluice/task.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::tasks {

/// Nodes by type: 1 of those that have a training event. u8 [nodes].
struct SeenNodes {
  std::size_t source_type = 0, destination_type = 0;
  Array sources, destinations;  ///< the same where types are

  /// Whether both ends are.
  bool both(std::uint64_t source, std::uint64_t destination) const {
    return sources.as<std::uint8_t>()[source] != 0 &&
           destinations.as<std::uint8_t>()[destination] != 0;
  }
};

/// @param columns of the scores behind each event's own @param seen null: no ".new_nodes"
std::unique_ptr<MetricAccumulator> make_temporal_link_metrics(
    const std::vector<EventColumns>& columns, std::shared_ptr<const SeenNodes> seen);

}  // namespace sluice::tasks
