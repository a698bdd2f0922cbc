// PairFeatures: exact numbers about a source and a destination at a time, from what came before.
//
// Of the pair, of the source, of the destination, and of the step that the source would take: from
// the destination it met last to this one, which others have taken before. Each a function of the
// events below a bound alone. Used by one thread.
#pragma once

#include "samplers/pair_history.h"
#include "tasks/decayed_sums.h"

#include <sluice/memory.h>
#include <sluice/tasks/pair_model.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::tasks {

struct PairFeatureOptions {
  std::vector<double> clocks;  ///< ticks after which an event counts 1/e
  PairDirection direction = PairDirection::kForward;
};

class PairFeatures {
 public:
  /// Reads all of the history, which must outlive this, once. The steps are charged to `ledger` as
  /// a history is. Throws kResource.
  PairFeatures(const PairHistory& history, PairFeatureOptions options, MemoryLedger* ledger);

  /// Numbers a pair.
  static std::size_t width(std::size_t clocks) { return kPlain + 3 * clocks; }
  std::size_t width() const { return width(options_.clocks.size()); }

  /// f32 [c, width()] of a query's candidates, each of about 1; zeros for who is not there.
  /// @param i number of the query
  void fill(const PairRequest& request, std::size_t i, std::span<float> out);

 private:
  static constexpr std::size_t kPlain = 14;

  // What all candidates of a query share.
  struct Asked {
    std::uint64_t source = 0;
    std::int64_t time = 0;
    TemporalCut bound;
    PairLists of_source;
    bool met_any = false;
    std::uint64_t last_met = 0;  // the source's latest destination
  };
  Asked ask(const PairRequest& request, std::size_t i) const;
  void fill_one(const Asked& asked, std::uint64_t destination, std::span<float> out);

  const PairHistory& history_;
  PairFeatureOptions options_;
  PairHistory steps_;  // from a source's latest destination to its next, at the time of that
  DecayedSums of_pairs_, of_destinations_, of_steps_;
  std::vector<float> sums_;
};

}  // namespace sluice::tasks
