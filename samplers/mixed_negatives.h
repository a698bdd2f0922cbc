// MixedNegatives: other destinations beside an event, up to half of them ones that its source met
// in training, as boards with stored lists draw them (TGB: Huang et al., NeurIPS 2023).
//
// Of k, all distinct: first destinations that the source met in training and does not meet at the
// event's time, k / 2 of them or as many as there are; then candidates that it neither met in
// training nor meets at that time. Of each the same chance. Immutable: any number of threads may
// use one. Torch-free.
#pragma once

#include "core/threads.h"
#include "samplers/pair_history.h"
#include "samplers/temporal_graph.h"

#include <sluice/memory.h>
#include <sluice/random.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

class MixedNegatives {
 public:
  struct Event {
    std::uint64_t source = 0, destination = 0;
    std::int64_t time = 0;
  };

  /// Takes what a PairHistory does. @param training_end time of the first event that is not for
  /// training. Errors: as PairHistory::make.
  static Result<MixedNegatives> make(const TemporalGraph& graph,
                                     std::uint64_t num_sources,
                                     std::int64_t training_end,
                                     ThreadArena& arena,
                                     MemoryLedger* ledger);

  /// Fills `out`; kNoNode behind the last where there are fewer. A function of key, event and
  /// candidates: O(degree + k log degree). @param candidates ascending
  void draw(RandomKey key,
            const Event& event,
            std::span<const std::uint64_t> candidates,
            std::span<std::uint64_t> out) const;

 private:
  // Whom a source met, ascending.
  struct Met {
    std::vector<std::uint64_t> historical;  // in training, and not at the event's time
    std::vector<std::uint64_t> barred;      // in training, or at that time
  };

  MixedNegatives(PairHistory history, std::int64_t training_end)
      : history_(std::move(history)), training_end_(training_end) {}
  Met met_by(const Event& event) const;

  PairHistory history_;
  std::int64_t training_end_;
};

}  // namespace sluice
