// DecayedSums: for lists of events the sums of exp(-age / clock) over a list's events up to each of
// them, of several clocks: what a sum is at any later time is one product away.
//
// Kept at each event as a sum at its own time, so that nothing is a difference of sums. In f32.
#pragma once

#include "samplers/pair_history.h"

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::tasks {

class DecayedSums {
 public:
  DecayedSums() = default;
  /// @param all events that lists are stretches of @param clocks ticks, above 0
  DecayedSums(std::span<const PairEvent> all, std::vector<double> clocks);

  /// Fills in the sums of a list; before it is asked about. @pre a stretch of `all`
  void add(std::span<const PairEvent> list);

  /// The sums over a list's first events at a time that is not before the last of them: one a
  /// clock; 0 for none.
  void at(std::span<const PairEvent> events, std::int64_t time, std::span<float> out) const;

 private:
  float* sums_of(const PairEvent& event) const;

  const PairEvent* first_ = nullptr;
  std::vector<double> clocks_;
  torch::Tensor sums_;  // f32 [events, clocks]
};

}  // namespace sluice::tasks
