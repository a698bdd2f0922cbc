// RunReport: what `run`, `resume` and `evaluate` measured; printed as text or as the JSON object
// that `--json` promises.
#pragma once

#include "core/peak_memory.h"
#include "probe/probe_run.h"
#include "train/cached_tables.h"
#include "train/checkpoint.h"
#include "train/continual_report.h"
#include "train/exact_run.h"
#include "train/execution_report.h"
#include "train/plan_run.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Where the model ran. On the CPU only `kind` is set.
struct DeviceReport {
  std::string kind = "cpu";
  std::string name;
  std::uint64_t budget = 0;
  std::uint64_t in_flight = 0;     ///< most bytes of mini-batches on the GPU
  std::uint64_t tensors = 0;       ///< most bytes that LibTorch's pool held there
  std::uint64_t learned_rows = 0;  ///< bytes of them that are kept there between steps
  std::uint64_t transferred = 0;   ///< bytes to the GPU, in this session's training
  double busy = 0;      ///< share of this session's training time that a step was on the GPU
  bool pinned = false;  ///< the GPU reads this machine's memory itself, all that it was to
  std::string gather;   ///< who gathered features in this session's training: "gpu" or "host"
};

/// Of a run by partitions of learned rows, whose training is approximate.
struct PartitionReport {
  std::uint64_t partitions = 0;
  std::uint64_t slots = 0;  ///< in memory at once; 0: all rows are
  std::string order;        ///< empty where the run was not trained in this session
  /// Whose model reads neighbours: they were drawn among resident nodes.
  bool in_buffer = false;
  PartitionFigures figures;
};

struct RunReport {
  std::string run;  ///< the run directory
  std::string task;
  std::string model;
  std::vector<std::string> classes;  ///< names by number; empty where they have none
  std::uint64_t seed = 0;
  std::uint64_t epochs = 0;  ///< done
  std::optional<std::uint64_t> best_epoch;
  Metrics metrics;
  /// What links of the part, a run's of the test, were ranked among where task.ranking = "all":
  /// "all" nodes, or "drawn" ones; else empty.
  std::string ranked_among;
  std::optional<probe::BesideReport> beside;  ///< of embeddings that were probed
  double seconds = 0;
  std::vector<double> epoch_seconds;
  std::string features;  ///< "memory" or "disk"
  std::string learned;   ///< likewise of learned rows; empty: there are none
  std::optional<PartitionReport> partitions;
  std::optional<ExactRun> exact;                 ///< that a run by partitions is set beside
  std::string topology;                          ///< topology_name()
  std::map<std::string, std::string> relations;  ///< where it is "mixed": key, and place
  std::string plan;  ///< how rows are read: as plan_name(), or "none" from memory
  std::string engine;
  std::optional<ContinualReport> continual;
  std::optional<ExecutionReport> execution;  ///< of models whose first layer has a choice of order
  std::string visibility;  ///< which events a node at a time sees; empty: nothing is asked at times
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_useful = 0;
  RunCounters counters;
  std::vector<TableCache> caches;  ///< of tables on disk
  std::uint64_t budget = 0;
  std::uint64_t ledger_peak = 0;
  std::vector<MemoryLedger::Entry> memory;
  std::uint64_t peak_rss = 0;
  std::uint64_t peak_anonymous = 0;
  std::uint64_t anonymous_at_start = 0;  ///< before the engine allocated anything: LibTorch's own
  std::optional<std::uint64_t> batches_xxh3;  ///< none where train.hash_batches is off
  std::uint64_t weights_xxh3 = 0;
  DeviceReport device;
};

/// How windows were read, or will be: "direct", "sweep", "repack", or several, joined by '+'.
/// @param swept, packed of the windows
std::string plan_name(std::uint64_t windows, std::uint64_t swept, std::uint64_t packed);
std::string plan_name(const LoaderStats& stats);

/// Fills in what the parts, the plan and the process know: names, storage, memory.
/// @param weights_xxh3 Parts::learned_xxh3(), which goes through all rows: asked for once
RunReport begin_report(const PlannedRun& run, PeakMemory& peak, std::uint64_t weights_xxh3);
/// What a GPU did in this session's training.
struct DeviceTimes {
  double on_device = 0;  ///< seconds with a step on the GPU
  double seconds = 0;
  std::uint64_t transferred = 0;
  std::uint64_t batches_gathered = 0;  ///< whose features it gathered itself
};
void add_device_times(RunReport& report, const DeviceTimes& times);
/// Fills in what the state counted.
void add_state(RunReport& report, const RunState& state);

nlohmann::ordered_json to_json(const RunReport& report);
std::string to_text(const RunReport& report);

}  // namespace sluice
