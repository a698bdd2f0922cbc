// Parts: what a run is made of, opened and built from its options under one ledger. Made by the
// budget (to measure) and by the run; torn down in the opposite order. Used by one thread.
#pragma once

#include "budget/memory_phases.h"
#include "budget/relation_places.h"
#include "core/threads.h"
#include "train/model_state.h"
#include "train/options.h"
#include "train/partition_mode.h"
#include "train/row_tables.h"
#include "train/run_device.h"

#include <sluice/dataset.h>
#include <sluice/loader.h>
#include <sluice/memory.h>
#include <sluice/model.h>
#include <sluice/nn/learned_rows.h>
#include <sluice/nn/ledger_allocator.h>
#include <sluice/optimizer.h>
#include <sluice/samplers/links.h>
#include <sluice/task.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sluice {

class ReplayBuffer;

using LedgerPtr = std::shared_ptr<MemoryLedger>;

/// What its task is going to be asked for.
enum class AskedFor {
  kOutputs,       ///< losses, outputs, figures
  kTrainOutputs,  ///< the same, and figures of training queries among them
  kBestEnds       ///< Task::best_ends()
};

/// Where data is kept, and how sampling and steps share the rest.
struct PartsPlacement {
  Placement features = Placement::kDisk;
  Placement topology = Placement::kMemory;
  Placement embeddings = Placement::kMemory;
  bool rows_on_device = false;  ///< learned rows in memory are kept on the GPU between steps
  MemoryPhases phases = {};
  /// Only to measure with: outputs of the model where the task would want more; 0: as it wants.
  std::int64_t outputs = 0;
  RowsMode rows = RowsMode::kExact;  ///< how training goes through learned rows
  AskedFor asked = AskedFor::kOutputs;
  RelationPlaces relations = {};  ///< Places::relations
};

/// A schema whose labels have at most so many classes, without names; 0: the schema itself.
GraphSchema narrow_labels(const GraphSchema& schema, std::int64_t classes);

struct Parts {
  /// Opens the dataset and builds task, model and optimiser, their first parameters drawn from the
  /// seed. Throws Error: kUsage where options and dataset do not fit together, kData, kIo,
  /// kResource.
  /// @param options must outlive the parts
  Parts(const RunOptions& options, RunDevice device, LedgerPtr book, const PartsPlacement& where);
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  /// Queries of a part.
  std::uint64_t count(Part part) const {
    return asked_events ? asked_events->size() : task->count(part, data);
  }
  /// A loader over a part: with gradients in mind (kTrain, shuffled, training fanout), or for
  /// evaluation.
  std::unique_ptr<Loader> training_loader(const LoaderMemory& memory);
  std::unique_ptr<Loader> evaluation_loader(Part part, const LoaderMemory& memory);
  /// Dataset::newer(), but nothing while edges are read from disk and some of it are in a log.
  std::optional<Dataset> newer() const;
  /// Goes on with newer(), where there is one; model and optimiser stay. No loader may be alive.
  /// Throws Error. @return whether it did
  bool follow();

  RandomKey key() const { return RandomKey(options.seed); }
  /// What is learned in tensors: of the model, and of the task beside it by names below "head.".
  NamedTensors weights() const;
  /// A hash of all that is learned, rows among it.
  std::uint64_t learned_xxh3() const;

  const RunOptions& options;
  PartsPlacement placement;
  RunDevice device;
  TraceWriter* trace = nullptr;  ///< of what loaders and steps do; borrowed; null: none is written
  LedgerPtr ledger;
  nn::LedgerAllocation tensors;
  Dataset dataset;
  std::unique_ptr<const GraphSchema> narrow;  ///< what the task was made for, for placement.outputs
  std::vector<Dataset> outgrown;  ///< earlier generations: tasks and models may know their schemas
  std::unique_ptr<Task> task;
  std::shared_ptr<const SamplerMethod> sampler;  ///< of training
  /// That evaluation asks about in the place of a part's, where a user gave some.
  std::shared_ptr<const Links> asked_events;
  ThreadArena compute;
  RowTables tables;                       ///< none where [embedding] wants none
  std::unique_ptr<nn::LearnedRows> rows;  ///< over them
  std::shared_ptr<Model> model;
  ModelState state;  ///< rows of it are among `tables`
  GraphData data;
  std::unique_ptr<Optimizer> optimizer;
  /// Old queries that are asked again, of the first loader of training on; null: none are.
  std::shared_ptr<const ReplayBuffer> replay;
  /// Once links are sorted, where placement.rows wants partitions. A run is measured before, with
  /// mini-batches of as many links.
  std::unique_ptr<PartitionMode> partitions;
};

}  // namespace sluice
