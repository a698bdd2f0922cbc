// MemoryPlan: how the budget of a run is split, as a value: a pure function of what the parts of
// the run say that they need, and when.
//
// Of what is loaded that is what was charged; of mini-batches and tensors what a few of them and a
// trial step took (measured_needs.h), raised by a margin, for later ones may be larger. Windows get
// the rest. No phase takes more than the budget; the smallest that works is told with every plan.
#pragma once

#include "budget/memory_table.h"
#include "budget/shared_caches.h"

#include <sluice/loader.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// What learned rows need beside those in memory: bytes; nothing where there are none.
struct LearnedNeeds {
  std::uint64_t disk = 0;       ///< of the rows, once
  std::uint64_t fixed = 0;      ///< of memory, whatever its cache
  std::uint64_t least = 0;      ///< of the cache that works, with its margin
  std::uint64_t most = 0;       ///< more is of no use
  std::uint64_t slots = 0;      ///< by partitions, instead of a cache: those that have memory
  std::uint64_t buckets = 0;    ///< by partitions: of links in edge buckets
  std::uint64_t on_device = 0;  ///< of the GPU's memory: rows that are kept there
  bool ahead = false;           ///< a mini-batch more is held: the next, whose rows are announced
};

/// What the parts of a run need: bytes, as measured, without margins.
struct MemoryNeeds {
  MemoryPhases phases;
  std::vector<MemoryLine> loaded;  ///< edges, features, labels, their buffers: all that is charged
  std::uint64_t resident = 0;      ///< weights and optimiser state
  std::uint64_t weights = 0;       ///< of them, for the copy of the best
  LoaderProbe training;            ///< of no batches where nothing is trained
  LoaderProbe evaluation;          ///< of no batches where nothing is evaluated
  /// By feature table: rows of a mini-batch; none: not known.
  std::vector<std::uint64_t> asked_rows;
  std::uint64_t reading_back = 0;  ///< buffers of repacked rows
  LearnedNeeds learned;
  SharedCaches caches;        ///< where learned rows share with features by what a row saves
  std::uint64_t counted = 0;  ///< while it is counted how often rows are used, before anything runs
  std::uint64_t step = 0;     ///< tensors of a step beside them, by the largest mini-batch
  std::string step_line = "tensors of a step";
  std::string step_from = "in a trial step";
  std::uint64_t tried = 0;           ///< tensors of a step while it is tried
  std::uint64_t copied = 0;          ///< of weights and state, meanwhile
  std::uint64_t trace = 0;           ///< buffer of a trace, where one is written
  std::uint64_t device_tensors = 0;  ///< most that LibTorch's pool on a GPU held
};

/// Of the host's memory; windows, and what goes with them, are its last lines.
struct MemoryPlan : MemoryTable {
  std::uint64_t fixed = 0;          ///< beside steps, of lines that do not depend on the budget
  LoaderMemory loader;              ///< its share; filled in only where the plan fits
  std::uint64_t learned_cache = 0;  ///< of learned rows on disk
  /// Of it, by SharedCaches::learned, beyond the least of each; none: by what all of their rows
  /// take.
  std::vector<std::uint64_t> learned_shares;
  std::uint64_t learned_window = 1;    ///< mini-batches whose learned rows come together
  MemoryTable device;                  ///< of the GPU's memory; no budget: there is none
  std::uint64_t device_in_flight = 0;  ///< mini-batches; the rest is for tensors
};

/// @param budget of the host's memory, which may be too small: MemoryTable::fits()
/// @param device_budget of the GPU's; 0: there is none
MemoryPlan plan_memory(const MemoryNeeds& needs,
                       std::uint64_t budget,
                       std::uint64_t device_budget = 0);

}  // namespace sluice
