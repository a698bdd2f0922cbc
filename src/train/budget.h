// The split of `[memory] host`: what a run takes, measured before it starts, and what is left for
// windows.
//
// What is loaded is taken from the ledger; mini-batches and tensors from sampling a few batches and
// one trial step of the first. Figures that vary between mini-batches are raised by a stated
// margin; windows get the rest. Sampling and steps have memory of their own, or take turns. A run
// that does not fit is refused with the table and the smallest budget that works.
#pragma once

#include "train/parts.h"

#include <sluice/loader.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// A line of what does not stay: copies of weights and optimiser state while a step is tried.
inline constexpr const char* kWhileMeasured = "while measured";

struct BudgetLine {
  std::string name;
  std::uint64_t bytes = 0;
  std::string note;
};

/// What a run is going to do.
struct Work {
  enum class Kind { kTrain, kEvaluate };
  Kind kind = Kind::kTrain;
  Part evaluated = Part::kValid;
  std::uint64_t trace_bytes = 0;  ///< of the buffer of a trace, where one is written
};

/// What the parts of a run take.
struct BudgetNeeds {
  std::vector<BudgetLine> lines;     ///< all but windows and the queue's room to spare
  std::uint64_t block_bytes = 0;     ///< of a mini-batch, margin included
  std::uint64_t feature_bytes = 0;   ///< of a mini-batch, margin included
  std::uint64_t window_bytes = 0;    ///< the least that windows work with, margin included
  std::uint64_t transfer_bytes = 0;  ///< of a mini-batch packed for a GPU, margin included
  bool in_turns = false;             ///< sampling and steps take turns
  std::uint64_t sampling_bytes = 0;  ///< then: what sampling takes of what follows
  std::uint64_t steps_bytes = 0;     ///< of the lines, what steps take
  /// What blocks of memory may take beyond the margin because they come in sizes: wanted, not
  /// needed. The usual margin is more than that.
  std::uint64_t rounding_bytes = 0;
  /// What measuring took beside what is loaded, copies of weights and optimiser state among it.
  std::uint64_t measuring_bytes = 0;
  std::vector<BudgetLine> device_lines;  ///< what a GPU holds; empty on the CPU
};

struct BudgetPlan {
  std::uint64_t budget = 0;
  std::uint64_t least = 0;  ///< the smallest budget that works, whole MiB
  bool fits() const { return least <= budget; }
  std::vector<BudgetLine> lines;
  Placement features = Placement::kDisk;
  Placement topology = Placement::kMemory;
  std::string why;  ///< of the features' placement
  std::string topology_why;
  LoaderMemory loader;
  std::uint64_t device_budget = 0;  ///< of the GPU's memory; 0: there is none
  std::vector<BudgetLine> device_lines;

  std::uint64_t device_least() const;
  /// Aligned text, one line each.
  std::string table() const;
  std::string device_table() const;
};

/// Measures parts that were just built: loads nothing, leaves model and optimiser as they were.
/// Throws Error.
BudgetNeeds measure_needs(Parts& parts, const Work& work);

/// Splits the budget over the needs; `loader` is filled in only when it fits.
BudgetPlan split_budget(std::uint64_t budget, const BudgetNeeds& needs);

}  // namespace sluice
