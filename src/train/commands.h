// What sluice-train does, free of the command line: run, resume, evaluate, predict, and looking
// without running.
#pragma once

#include "core/log.h"
#include "core/peak_memory.h"
#include "core/progress.h"
#include "train/epoch_estimate.h"
#include "train/layer_figures.h"
#include "train/report.h"
#include "train/run_directory.h"
#include "train/weights_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// What every command is given. Borrowed.
struct TrainContext {
  const TrainRegistry& registry;
  Logger& log;
  PeakMemory& peak;
  ProgressStyle progress = ProgressStyle::kAuto;
  /// The file to write a trace of a run or an evaluation to, or empty.
  std::filesystem::path trace = {};
};

/// Trains from the beginning. All throw Error; kInterrupted says how to go on.
RunReport run_training(const RunOptions& options,
                       RunDirectory::Mode mode,
                       const TrainContext& context);

/// Goes on with a run, or begins it when it has no checkpoint yet. @param sets "train.epochs=20":
/// keys that may change
RunReport resume_training(const std::string& directory,
                          const std::vector<std::string>& sets,
                          const TrainContext& context);

/// Trains on what was appended to a run's dataset since, from the run's best weights: a run of its
/// own, in run.dir (empty in `sets`: the directory's name with "-2", "-3", ...). The run that it
/// goes on from is only read. @param sets keys that may change: all but those of [task] and [model]
RunReport continue_training(const std::string& directory,
                            const std::vector<std::string>& sets,
                            RunDirectory::Mode mode,
                            const TrainContext& context);

/// How outputs come about.
enum class Inference {
  kByBatch,  ///< mini-batch by mini-batch, by eval.fanout
  kByLayer   ///< all nodes' full neighbourhoods, layer by layer (train/layer_pass.h)
};

struct EvaluateOptions {
  Part part = Part::kTest;
  CheckpointKind checkpoint = CheckpointKind::kBest;  ///< the last where the run has no best
  /// Of predictions: a file of events to ask about in the place of the part's
  /// (train/asked_events.h); empty: none.
  std::string events = {};
  Inference inference = Inference::kByBatch;  ///< of evaluations
};

RunReport evaluate_run(const std::string& directory,
                       const std::vector<std::string>& sets,
                       const EvaluateOptions& options,
                       const TrainContext& context);

struct PredictReport {
  std::string out;
  std::uint64_t rows = 0;
  std::uint64_t not_finite = 0;  ///< rows of these without a prediction: outputs are not finite
  double seconds = 0;
  std::vector<std::string> classes{};  ///< names by number; empty where they have none
  std::vector<LayerFigures> layers{};  ///< of embeddings: what each layer moved
  /// Of embeddings: the seconds that the disk alone would take for these bytes, of those that
  /// passed.
  std::optional<double> of_device{};
};

/// Writes a prediction for each node of the part to `out` (.csv or .npy), under the user's own ids.
PredictReport predict_run(const std::string& directory,
                          const std::vector<std::string>& sets,
                          const EvaluateOptions& options,
                          const std::filesystem::path& out,
                          const TrainContext& context);

/// What is looked for at an end of links.
struct BestRequest {
  LinkEnd end = LinkEnd::kDestination;
  std::int64_t count = 10;
};

/// Writes the best ends of each link of the part to `out` (.csv or .npy): rows of source, target,
/// rank and score, best first, and of links with types the type's number.
PredictReport predict_best_run(const std::string& directory,
                               const std::vector<std::string>& sets,
                               const EvaluateOptions& options,
                               const BestRequest& best,
                               const std::filesystem::path& out,
                               const TrainContext& context);

/// Which rows of nodes are written.
enum class EmbeddedRows {
  kEncoded,  ///< what the run's model makes of them, by full neighbourhoods
  kLearned   ///< those that are learned beside its weights, as they are
};

struct EmbedOptions {
  std::string type = {};  ///< its name; empty: the only one that has such rows
  EmbeddedRows rows = EmbeddedRows::kEncoded;
  /// Of encoded ones: after so many layers; 0: what the first reads; -1: all.
  std::int64_t layer = -1;
};

/// Writes the rows of all nodes of a type to `out` (.csv, .npy or .safetensors), each behind its
/// node's id. Of a model that gives learned rows as they are, both kinds are the same.
PredictReport embed_run(const std::string& directory,
                        const std::vector<std::string>& sets,
                        const EvaluateOptions& options,
                        const EmbedOptions& embed,
                        const std::filesystem::path& out,
                        const TrainContext& context);

/// Writes a run's stored weights to `out` (.safetensors). Needs neither dataset nor config.
WeightsReport export_run(const std::string& directory,
                         CheckpointKind checkpoint,
                         const std::filesystem::path& out);

/// What a run would be: its resolved config, where its memory would go, and what an epoch would
/// read.
struct DryRun {
  std::string config;
  Places places;
  MemoryPlan plan;
  std::string engine;
  LoaderForecast forecast;  ///< of the first epoch of training
  LearnedNeeds learned;     ///< of rows that are learned
  EpochEstimate estimate;
  std::map<std::string, std::string> relations = {};  ///< as RunReport::relations
};

DryRun dry_run(const RunOptions& options, const TrainContext& context);

}  // namespace sluice
