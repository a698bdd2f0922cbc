// Trainer: epochs over a loader, validation, early stopping, checkpoints.
//
// A run is a function of (dataset, config, seed): where it was interrupted and resumed, and where
// its data is kept, does not show in its weights, batches or metrics. Used by one thread.
#pragma once

#include "core/log.h"
#include "core/progress.h"
#include "core/rate_schedule.h"
#include "pipeline/stage_clock.h"
#include "probe/probe_run.h"
#include "train/batches_ahead.h"
#include "train/checkpoint.h"
#include "train/continual_report.h"
#include "train/loss_reader.h"
#include "train/plan_run.h"
#include "train/report.h"
#include "train/run_directory.h"
#include "train/step_clock.h"

#include <sluice/loader.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct Evaluation;

class Trainer {
 public:
  /// All are borrowed and must outlive the trainer. @param config the resolved config's text, for
  /// checkpoints
  Trainer(PlannedRun& run,
          RunDirectory& directory,
          std::string config,
          Logger& log,
          ProgressStyle progress);

  /// Begins anew: weights and learned rows are as they begin, or those of the run that this one
  /// goes on from, which are tested on old data then. This or restore() comes first.
  void begin();
  /// Goes on from the directory's last checkpoint; metrics written after it are taken back.
  void restore();

  /// Trains until the last epoch or early stopping, and leaves a last checkpoint. Throws
  /// kInterrupted, with a checkpoint written, once a signal came; kData or kUsage once a loss or
  /// weights are not finite.
  void train();

  /// Of the validation part, once train() went through no epochs; else empty.
  const Metrics& untrained() const { return untrained_; }

  /// Metrics of the test part with the best epoch's weights (the last ones where nothing was
  /// validated), which the model then holds. Empty when there is no test part.
  Metrics test();
  /// Whether test() went by rows of all nodes that were made for it: else by mini-batches, also
  /// where these rows did not fit.
  bool tested_by_layer() const { return tested_by_layer_; }
  /// What test() measured beside; none of most tasks.
  const std::optional<probe::BesideReport>& beside() const { return beside_; }
  /// Tests old data by the weights that the model holds; nothing where the run goes on from none.
  std::optional<ContinualReport> test_old();

  const RunState& state() const { return state_; }
  /// Of this session.
  const DeviceTimes& device_times() const { return device_times_; }

 private:
  using Clock = std::chrono::steady_clock;

  // What an epoch took in this session.
  struct EpochFigures {
    LoaderStats loader;  // and the steps' times
    double seconds = 0;
    std::uint64_t seeds = 0;
    RowFigures rows;                             ///< what tables on disk took
    std::optional<PartitionFigures> partitions;  ///< where rows are trained by them
  };

  bool finished() const;
  void open_loader();
  void begin_state();
  Metrics measure_old();
  void with_hint(const char* meanwhile, const std::function<void()>& work);
  bool others_between() const;
  torch::Tensor weighed(const torch::Tensor& loss, const Batch& batch) const;
  bool ends_step(std::uint64_t batch) const;
  bool between_steps() const;
  std::uint64_t seeds_of_epoch() const;
  void follow_dataset();
  void run_epoch();
  EpochFigures train_epoch();
  void note_figures(EpochFigures& figures,
                    const RunState& before,
                    LoaderStats stats,
                    const StageTimes& steps);
  std::shared_ptr<const Batch> next_of_epoch(BatchesAhead& batches, StageClock& steps);
  void set_rates(const Batch& batch);
  torch::Tensor step(const Batch& batch);
  void take_loss(const torch::Tensor& loss, const Batch& batch);
  void check_epoch();
  [[noreturn]] void end_not_finite(ErrorCode code, const std::string& message);
  bool validation_due() const;
  bool next_follows() const;
  void keep_state();
  Metrics evaluate_part(Part part);
  Metrics note_evaluation(Part part, Evaluation evaluation);
  bool tests_by_layer();
  void make_ready_for_layers(const RowGenerations& rows);
  void go_back_to_batches(const RowGenerations& rows);
  void begin_test(const RowGenerations& rows);
  std::optional<Metrics> test_by_layer(const RowGenerations& rows);
  bool note_validation(const Metrics& metrics);
  void end_epoch(const EpochFigures& figures, const Metrics& valid, bool best);
  void checkpoint();
  void save_best();
  RowGenerations commit_rows();
  void note_moved();
  void note_rows(EpochFigures& figures);
  void keep_rows(const RowGenerations& made);
  std::filesystem::path rows_path() const;
  void save(CheckpointKind kind);
  void stop_if_interrupted();
  void tell_refusal();
  std::string resume_hint() const;

  PlannedRun& run_;
  Parts& parts_;
  const MemoryPlan& plan_;
  RunDirectory& directory_;
  std::string config_;
  Logger& log_;
  ProgressStyle progress_;
  std::string metric_;  // that picks the best epoch: "valid.accuracy"
  Better better_ = Better::kHigher;
  Metrics untrained_;  // validation without epochs
  RateSchedule schedule_;
  double weights_rate_;  // as the optimiser was made
  std::unique_ptr<Loader> loader_;
  bool validated_ = false;  // there are nodes to validate by, with labels
  RunState state_;
  LossReader losses_;
  StepClock step_clock_;
  DeviceTimes device_times_;
  std::optional<probe::BesideReport> beside_;  // the test's
  Clock::time_point last_checkpoint_ = Clock::now();
  std::uint64_t best_written_ = 0;     // epoch of best.ckpt
  TableRows::Moved moved_;             // of learned rows, since the last epoch's end
  RowGenerations best_rows_;           // that best.ckpt names
  std::vector<RowGenerations> named_;  // by last.ckpt, its best epoch, and best.ckpt
  bool tested_by_layer_ = false;
  bool told_refusal_ = false;
  bool saved_ = false;  // the state as it is stands in last.ckpt
};

}  // namespace sluice
