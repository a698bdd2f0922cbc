// MemoryPhases: what follows for a run's memory from how sampling and steps share it: side by side,
// or in turns (LoaderMemory::in_turns), where an epoch is sampled before its first step, in what
// steps take afterwards. The one place of this room that knows. A value.
#pragma once

#include "budget/memory_ratios.h"

#include <sluice/loader.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

/// When memory is taken.
enum class MemoryUse : std::uint8_t { kAlways, kSampling, kSteps };

/// What goes on at once: unless told otherwise all.
struct MemoryPhase {
  std::string_view name = {};
  bool sampling = true;
  bool steps = true;

  bool takes(MemoryUse use) const {
    return use == MemoryUse::kAlways || (use == MemoryUse::kSampling ? sampling : steps);
  }
};

class MemoryPhases {
 public:
  MemoryPhases() = default;  ///< side by side
  static MemoryPhases taking_turns() {
    MemoryPhases phases;
    phases.turns_ = true;
    return phases;
  }

  /// One after the other; the last one has the steps.
  std::vector<MemoryPhase> list() const {
    if (turns_) return {{"sampling", true, false}, {"steps", false, true}};
    return std::vector<MemoryPhase>(1);
  }
  /// What a loader is told of it, without bytes.
  LoaderMemory loader() const {
    LoaderMemory memory;
    memory.in_turns = turns_;
    return memory;
  }
  /// Whether mini-batches are sampled beside steps: each loader of the run then keeps what that
  /// takes.
  bool samples_beside_steps() const { return !turns_; }
  /// Mini-batches of the consumer's: in step, and being assembled beside it.
  std::uint64_t delivered() const { return turns_ ? 1 : 2; }
  /// Whether more of them may wait.
  bool queues() const { return !turns_; }

  /// Whether a step is tried with features as they are read: that takes windows. Else they are
  /// zeros.
  bool measures_by_windows() const { return !turns_; }
  /// Whether every byte counts: the margin is then how much mini-batches differ, and what the sizes
  /// of blocks take beyond it has a line of its own.
  bool is_tight() const { return turns_; }
  std::uint64_t probed() const {
    return turns_ ? memory_ratios::kProbedForSpread : memory_ratios::kProbed;
  }

  /// The budget that read buffers are sized by.
  std::uint64_t read_budget(std::uint64_t budget) const {
    return turns_ ? budget / memory_ratios::kReadShareInTurns : budget;
  }
  /// Of pages of edges on disk.
  std::uint64_t topology_cache_bytes(std::uint64_t budget) const {
    if (turns_) budget /= memory_ratios::kTopologyCacheShareInTurns;
    return std::max(budget / memory_ratios::kTopologyCacheShare,
                    memory_ratios::kLeastTopologyCache);
  }

  /// What a user is told; empty where it is as usual.
  std::string_view told() const {
    return turns_ ? "sampling and steps take turns, there is no room for both at once" : "";
  }

 private:
  bool turns_ = false;
};

}  // namespace sluice
