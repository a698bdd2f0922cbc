// PlanSetting: what sampling an epoch ahead and planning it work with; and the clocks that they are
// timed by, which may be asked from any thread meanwhile.
#pragma once

#include "pipeline/data/graph_data_state.h"
#include "pipeline/stage_clock.h"

#include <functional>
#include <vector>

namespace sluice {

struct PlanClocks {
  explicit PlanClocks(TraceWriter* trace) : planning("plan", trace), packing("repack", trace) {}

  std::vector<StageTimes> times() const { return {planning.times(), packing.times()}; }

  StageClock planning;
  StageClock packing;
};

struct PlanSetting {
  GraphData::State& data;  ///< its options say where scratch files are, and which plan is asked for
  MemoryLedger& ledger;
  PlanClocks& clocks;
  std::function<bool()> stopped;  ///< asked now and then, by several threads

  TraceWriter* trace() const { return clocks.planning.trace(); }
  /// Throws kInterrupted.
  void check_stopped() const {
    if (stopped()) throw Error(ErrorCode::kInterrupted, "interrupted while an epoch was planned");
  }
};

}  // namespace sluice
