// The configuration of a training run: one struct a table of the TOML file, each described once.
//
// Filled from a config file, `--set` and the resolved config of a run directory. What the keys
// mean, their units and ranges are in options.cpp; `sluice-train config keys` prints them.
#pragma once

#include "budget/storage_section.h"
#include "core/rate_schedule.h"
#include "train/continual_options.h"

#include <sluice/options.h>
#include <sluice/train.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

enum class Normalize { kNone, kRowL1 };

struct DatasetSection {
  std::string path;
  std::string split = "default";
  Normalize normalize = Normalize::kNone;
  bool follow = false;
  void describe(Schema& schema);
};

struct MemorySection {
  ByteSize host{2 * kGiB};
  ByteSize gpu{0};  ///< 0: nine tenths of what the GPU has free
  void describe(Schema& schema);
};

struct EarlyStoppingSection {
  std::string metric;  ///< "valid.accuracy"; empty: the task's main metric
  std::int64_t patience = 0;
  void describe(Schema& schema);
};

/// A loader by itself learns no rows.
struct TrainStorageSection : StorageSection {
  Keep embeddings = Keep::kAuto;
  void describe(Schema& schema);
};

/// Which rows a mini-batch of training may ask for.
enum class RowsMode {
  kExact,      ///< all
  kPartitions  ///< those of partitions that are in memory together
};

/// In which order pairs of partitions are in memory together.
enum class PartitionOrder { kAuto, kBeta, kComet, kSequential, kLegend };

/// Rows that are learned beside the model's weights.
struct EmbeddingSection {
  std::vector<std::string> types;  ///< node types; empty: all
  std::int64_t dim = 0;            ///< columns; 0: none are learned
  std::string optimizer = "adagrad";
  double lr = 0.1;
  double init = 0.001;
  std::string vectors;  ///< file of vectors that rows begin as; empty: none
  RowsMode mode = RowsMode::kExact;
  std::int64_t partitions = 16;
  std::int64_t slots = 4;
  PartitionOrder order = PartitionOrder::kBeta;
  std::string exact_run;  ///< of partitions: a run directory to set its metrics beside; empty: none
  const SparseOptimizerCatalog* optimizers = nullptr;  ///< what `optimizer` may name
  void describe(Schema& schema);
};

/// An encoder that another run trained without labels.
struct PretrainedSection {
  std::string from;        ///< its run directory; empty: none
  bool frozen = false;     ///< its weights stay as they are
  std::int64_t width = 0;  ///< columns of its embeddings; 0: as that run says
  void describe(Schema& schema);
};

enum class DeviceChoice { kAuto, kCpu, kCuda };

enum class MatrixProducts { kFloat32, kBFloat16 };

struct TrainSection {
  std::int64_t epochs = 10;
  std::int64_t batch_size = 1024;
  std::int64_t checkpoint_every = 1;
  double checkpoint_minutes = 0;
  DeviceChoice device = DeviceChoice::kAuto;
  MatrixProducts products = MatrixProducts::kFloat32;
  bool hash_batches = true;
  int data_threads = 0;
  int compute_threads = 0;
  Selection optimizer{"adam", nullptr};
  RateScheduleOptions schedule;
  EarlyStoppingSection early_stopping;
  const TrainRegistry* registry = nullptr;
  void describe(Schema& schema);
};

struct EvalSection {
  std::vector<std::int64_t> fanout;
  std::int64_t batch_size = 1024;
  std::int64_t every = 1;
  void describe(Schema& schema);
};

struct RunSection {
  std::string dir;
  void describe(Schema& schema);
};

struct RunOptions {
  /// @param registry what the names may mean; must outlive the options
  explicit RunOptions(const TrainRegistry& registry);

  std::uint64_t seed = 1;
  DatasetSection dataset;
  TrainStorageSection storage;
  MemorySection memory;
  Selection sampler{"neighbor", nullptr};
  Selection model{"graphsage", nullptr};
  PretrainedSection pretrained;
  EmbeddingSection embedding;
  Selection task{"node_classification", nullptr};
  TrainSection train;
  EvalSection eval;
  ContinualSection continual;
  ReplaySection replay;
  RunSection run;
  const TrainRegistry* registry;
  void describe(Schema& schema);

  /// All values as TOML that binds back to the same.
  std::string text();
};

/// Reads `config` into options and fills in what is left open: run.dir from the file's name,
/// compute_threads from the machine. Throws kUsage listing every problem.
RunOptions resolve_options(const Config& config, const TrainRegistry& registry);

enum class Compared {
  kToGoOn,    ///< all that changes what a run computes
  kToMeasure  ///< what says how stored weights are meant, and what they were trained on
};

/// The keys whose values differ between two runs' options and change what the run computes; "key: a
/// -> b" each. Where data is kept, the budget, data threads, checkpoint times, patience and, unless
/// the learning rates go by it, the number of epochs may differ.
std::vector<std::string> differences(const std::string& before,
                                     const std::string& now,
                                     const TrainRegistry& registry,
                                     Compared compared = Compared::kToGoOn);

}  // namespace sluice
