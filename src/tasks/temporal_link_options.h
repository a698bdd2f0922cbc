// The options of temporal link prediction.
#pragma once

#include "samplers/event_negatives.h"
#include "tasks/event_parts.h"

#include <sluice/options.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::tasks {

enum class EventLoss {
  kLogistic,  ///< binary cross-entropy of events and of others
  kSoftmax    ///< cross-entropy of an event among its others
};

enum class RankedBy {
  kRandom,  ///< EventNegativeKind::kOther
  kMixed    ///< EventNegativeKind::kMixed
};

struct TemporalLinkOptions {
  std::string relation;
  EventSplitOptions split;
  std::int64_t width = 64;
  std::int64_t decoder_hidden = 64;
  EventLoss loss = EventLoss::kLogistic;
  std::int64_t negatives = 1;
  EventCandidates candidates = EventCandidates::kDestinations;
  std::vector<std::string> eval_negatives{"random"};
  std::int64_t ranked = 0;
  RankedBy ranked_by = RankedBy::kRandom;
  double ranked_share = 1;
  std::string stored_negatives;
  void describe(Schema& schema);

  /// Throws kUsage for options that do not go together.
  void check() const;
  /// What stands beside an event in training, and in evaluation.
  std::vector<EventColumns> training_columns() const;
  std::vector<EventColumns> evaluation_columns() const;
};

}  // namespace sluice::tasks
