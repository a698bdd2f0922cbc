// SharedEvents: events that are among the latest few of both ends of a pair: whether two met
// lately, as far as both remember. Used by one thread.
#pragma once

#include "samplers/pair_history.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::tasks {

class SharedEvents {
 public:
  /// @param count events that each end remembers
  SharedEvents(const PairHistory& history, PairDirection direction, std::size_t count)
      : history_(history), direction_(direction), count_(count) {}

  /// Goes on to another source, or another bound.
  void begin(std::uint64_t source, const TemporalCut& bound) {
    bound_ = bound;
    latest_events(history_.of_source(source, direction_, bound), count_, of_source_);
  }
  /// How many are shared with a destination.
  std::size_t count(std::uint64_t destination);

 private:
  const PairHistory& history_;
  PairDirection direction_;
  std::size_t count_;
  TemporalCut bound_;
  std::vector<PairEvent> of_source_, of_destination_;
};

}  // namespace sluice::tasks
