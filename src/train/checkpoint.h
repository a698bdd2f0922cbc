// A run's state in a checkpoint: weights, optimiser, where it stands, what it has measured.
// Restoring it goes on bit for bit.
#pragma once

#include "core/rate_schedule.h"
#include "storage/checkpoint/container.h"
#include "train/counters.h"
#include "train/parts.h"

#include <sluice/optimizer.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

using Metrics = std::map<std::string, double>;

struct BestEpoch {
  std::uint64_t epoch = 0;
  double value = 0;
  Metrics metrics;       ///< of its validation, "valid.accuracy"
  NamedTensors weights;  ///< as they were then
  RowGenerations rows = {};
};

/// What rows on disk that are learned, or remembered, took in training.
struct RowFigures {
  std::uint64_t bytes_read = 0, bytes_written = 0;
  double waited = 0;  ///< seconds that steps waited for rows
};

/// What partitions of learned rows took in training.
struct PartitionFigures {
  std::uint64_t swaps = 0;  ///< partitions that were loaded, but for an epoch's first ones
  std::uint64_t bytes_read = 0, bytes_written = 0;  ///< of rows
  double waited = 0;                                ///< seconds that steps waited for rows

  PartitionFigures& operator+=(const PartitionFigures& more) {
    swaps += more.swaps;
    bytes_read += more.bytes_read;
    bytes_written += more.bytes_written;
    waited += more.waited;
    return *this;
  }
};

/// Where a run stands between two steps.
struct RunState {
  std::uint64_t epoch = 0;       ///< epochs that are done, with their validation
  std::uint64_t next_batch = 0;  ///< of the epoch under way
  double loss_sum = 0;           ///< of the epoch under way, over its labels
  std::uint64_t loss_seeds = 0;
  std::uint64_t loss_labels = 0;  ///< of these seeds
  std::uint64_t batches_xxh3 = 0;
  std::optional<BestEpoch> best;
  std::int64_t without_better = 0;  ///< validations since the best
  PlateauState plateau;             ///< of the learning rates
  double last_loss = 0;             ///< of the last epoch that is done
  std::uint64_t metrics_lines = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_useful = 0;
  RunCounters counters;
  PartitionFigures partitions;  ///< nothing where there are none
  double seconds = 0;           ///< of training and validation
  double epoch_seconds = 0;     ///< of the epoch under way
  std::vector<double> epochs;   ///< seconds of each epoch that is done
  RowGenerations rows = {};     ///< as they were committed last
  Metrics old_test = {};        ///< of a run that goes on from another: before its first step
  std::string plan;             ///< how the last epoch was read; not kept in checkpoints
};

enum class CheckpointKind {
  kLast,  ///< everything: a run goes on from it
  kBest   ///< the best epoch's weights alone, to evaluate and predict with
};

/// Writes the parts' weights (or the best epoch's) and the state. Returns bytes written. Throws
/// Error.
std::uint64_t save_checkpoint(const std::filesystem::path& path,
                              CheckpointKind kind,
                              const Parts& parts,
                              const std::string& config,
                              const RunState& state);

/// Puts weights (and for kLast the optimiser's state) into `parts`, opens its learned rows (but for
/// kLast to be read alone) and returns the state. Throws,
/// with the weights untouched: kUsage for another model or task, or, for kLast, other compute
/// threads or any other key that changes what the run computes; kData when the dataset changed
/// under the run or the checkpoint is damaged, newer, or holds weights of other shapes.
/// Of a best checkpoint the state's epoch is that of its weights.
RunState restore_checkpoint(const std::filesystem::path& path, CheckpointKind kind, Parts& parts);

/// Puts a stored run's weights into `parts`, of a later generation of its dataset maybe; returns
/// the generations of its rows in rows_folder(). Throws, with the weights untouched: kUsage for
/// another model or task, kData as above.
RowGenerations take_weights(const std::filesystem::path& path, Parts& parts);

/// A checkpoint's weights, whatever dataset they are of.
struct StoredWeights {
  RowGenerations rows;               ///< in rows_folder()
  std::string model, task;           ///< their types
  std::vector<std::string> classes;  ///< names by number; empty where they have none
  std::uint64_t epoch = 0;           ///< after which they are
  std::vector<CheckpointTensor> tensors;
  /// ContinualTask::num_ids() of the dataset as it was; nothing of other tasks, and in checkpoints
  /// of before this was kept.
  std::optional<std::uint64_t> num_ids = std::nullopt;
};

/// Throws Error: kData where the checkpoint is damaged or newer.
StoredWeights read_weights(const std::filesystem::path& path);

/// The epoch whose weights a best checkpoint holds, and the generations of its rows, without
/// tensors; nothing where there is none that can be read.
std::optional<BestEpoch> stored_best(const std::filesystem::path& path, MemoryLedger* ledger);

/// Dataset::fingerprint() of what the run read when the checkpoint was written. Reads no tensors.
/// Throws Error: kData where the checkpoint is damaged or newer.
std::uint64_t stored_fingerprint(const std::filesystem::path& path);

/// Where the rows are that a checkpoint names.
std::filesystem::path rows_folder(const std::filesystem::path& checkpoint);

}  // namespace sluice
