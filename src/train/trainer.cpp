#include "train/trainer.h"

#include "core/interrupt.h"
#include "train/checks.h"
#include "train/epoch_line.h"
#include "train/evaluation.h"
#include "train/weights.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace sluice {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Trainer::Trainer(PlannedRun& run,
                 RunDirectory& directory,
                 std::string config,
                 Logger& log,
                 ProgressStyle progress)
    : run_(run),
      parts_(*run.parts),
      plan_(run.plan),
      directory_(directory),
      config_(std::move(config)),
      log_(log),
      progress_(progress),
      metric_(best_metric(parts_)),
      schedule_(parts_.options.train.schedule),
      weights_rate_(parts_.optimizer->learning_rate()),
      losses_(parts_.device.device),
      step_clock_(parts_.device.device) {
  better_ = parts_.task->direction(metric_.substr(metric_.find('.') + 1));
  open_loader();
  if (!validated_ && parts_.options.train.schedule.type == ScheduleKind::kPlateau)
    log_.warn("train.schedule goes by validations, and there are none: learning rates stay");
}

void Trainer::open_loader() {
  loader_ = parts_.training_loader(plan_.loader);
  validated_ = parts_.count(Part::kValid) > 0 && has_labels(parts_, Part::kValid);
}

std::filesystem::path Trainer::rows_path() const {
  return rows_folder(directory_.checkpoint_path(CheckpointKind::kLast));
}

void Trainer::restore() {
  state_ = restore_checkpoint(
      directory_.checkpoint_path(CheckpointKind::kLast), CheckpointKind::kLast, parts_);
  const std::uint64_t lines = directory_.keep_metrics(state_.metrics_lines);
  if (lines < state_.metrics_lines) {
    log_.warn("metrics.jsonl has {} lines, {} were written before the checkpoint",
              lines,
              state_.metrics_lines);
  }
  saved_ = true;
  // What stands there stays until there is a better one.
  const auto stored =
      stored_best(directory_.checkpoint_path(CheckpointKind::kBest), parts_.ledger.get());
  if (state_.best && stored && stored->epoch == state_.best->epoch)
    best_written_ = state_.best->epoch;
  named_ = {state_.rows};
  if (state_.best) named_.push_back(state_.best->rows);
  if (stored) best_rows_ = stored->rows;
  named_.push_back(best_rows_);
  keep_rows(state_.rows);  // what was committed after the checkpoint goes
}

bool Trainer::finished() const {
  const std::int64_t patience = parts_.options.train.early_stopping.patience;
  return state_.epoch >= static_cast<std::uint64_t>(parts_.options.train.epochs) ||
         (patience > 0 && state_.without_better >= patience);
}

void Trainer::train() {
  last_checkpoint_ = Clock::now();
  while (!finished()) run_epoch();
  if (!saved_) checkpoint();
  const auto epochs = static_cast<std::uint64_t>(parts_.options.train.epochs);
  if (epochs == 0 && validated_) untrained_ = evaluate_part(Part::kValid);
  if (state_.epoch < epochs) {
    log_.info(
        "stopped early: {} has not been better for {} validations", metric_, state_.without_better);
  }
}

// Between two epochs, where the dataset may have grown meanwhile. What is done is kept whatever
// becomes of it.
void Trainer::follow_dataset() {
  if (!parts_.options.dataset.follow || state_.next_batch != 0) return;
  const auto keep = [this] {
    if (!saved_ && state_.epoch != 0) checkpoint();
  };
  try {
    if (!parts_.newer()) return;
  } catch (const Error&) {
    keep();
    throw;
  }
  keep();
  loader_.reset();
  parts_.tables.close();  // measured as before a run, and given another cache
  const bool followed = sluice::follow_dataset(run_, log_);
  parts_.tables.reopen(rows_path(), state_.rows);
  open_loader();
  if (!followed) return;
  std::uint64_t edges = 0;
  for (const RelationSchema& relation : parts_.dataset.schema().relations)
    edges += relation.edges + relation.appended;
  log_.info("the dataset is of generation {} now: {} edges, {} seeds to train on",
            parts_.dataset.generation(),
            format_count(edges),
            format_count(parts_.count(Part::kTrain)));
}

void Trainer::run_epoch() {
  follow_dataset();
  const EpochFigures figures = train_epoch();
  Metrics valid;
  if (validation_due()) {
    keep_state();
    try {
      valid = evaluate_part(Part::kValid);
    } catch (const Error& error) {
      // The epoch's steps are done and kept; its validation is done again on resume.
      if (error.code() == ErrorCode::kInterrupted) stop_if_interrupted();
      throw;
    }
  }
  const bool best = !valid.empty() && note_validation(valid);
  end_epoch(figures, valid, best);
  const auto every = static_cast<std::uint64_t>(parts_.options.train.checkpoint_every);
  if (every > 0 && state_.epoch % every == 0) checkpoint();
  if (!finished()) stop_if_interrupted();
}

Trainer::EpochFigures Trainer::train_epoch() {
  EpochFigures figures;
  const RunState before = state_;
  const auto begin = Clock::now();
  const auto batches = loader_->num_batches();
  parts_.tables.thaw_state();
  begin_state();
  Progress bar(progress_,
               fmt::format("epoch {}/{}", state_.epoch + 1, parts_.options.train.epochs),
               seeds_of_epoch(),
               "seeds");
  bar.add(state_.loss_seeds);
  loader_->start({.epoch = state_.epoch,
                  .first_batch = state_.next_batch,
                  .batches_xxh3 = state_.batches_xxh3,
                  .next_follows = next_follows(),
                  .others_between = others_between()});
  StageClock steps("step", parts_.trace);
  BatchesAhead ahead(*loader_, parts_);
  while (const std::shared_ptr<const Batch> batch = next_of_epoch(ahead, steps)) {
    const auto seeds = static_cast<std::uint64_t>(batch->num_queries());
    {
      Busy busy(steps);
      busy.note("epoch", static_cast<double>(batch->epoch));
      busy.note("batch", static_cast<double>(batch->index));
      take_loss(parts_.device.guarded([&] { return step(*batch); }), *batch);
    }
    state_.loss_seeds += seeds;
    state_.next_batch = batch->index + 1;
    figures.seconds = seconds_since(begin);
    figures.seeds += seeds;
    note_figures(figures, before, ahead.stats(), steps.times());
    saved_ = false;
    tell_refusal();
    bar.add(seeds);
    // The epoch's end has its own rules; a step that is not whole is not to be stopped after.
    if (state_.next_batch == batches || !between_steps()) continue;
    stop_if_interrupted();
    const double minutes = parts_.options.train.checkpoint_minutes;
    if (minutes > 0 && seconds_since(last_checkpoint_) >= 60 * minutes) checkpoint();
  }
  losses_.settle(0, state_.loss_sum);
  check_epoch();
  figures.seconds = seconds_since(begin);
  state_.epoch_seconds = before.epoch_seconds + figures.seconds;
  note_rows(figures);
  device_times_.on_device += step_clock_.take();
  device_times_.seconds += figures.seconds;
  device_times_.transferred += figures.loader.bytes_to_device;
  device_times_.batches_gathered += figures.loader.batches_gathered;
  return figures;
}

// What the loader did since the epoch began here, beside what the run had done `before`.
void Trainer::note_figures(EpochFigures& figures,
                           const RunState& before,
                           LoaderStats stats,
                           const StageTimes& steps) {
  const std::uint64_t written = figures.loader.bytes_written;
  figures.loader = std::move(stats);
  figures.loader.stages.push_back(steps);
  state_.batches_xxh3 = figures.loader.batches_xxh3;
  state_.bytes_read = before.bytes_read + figures.loader.bytes_read;
  state_.bytes_useful = before.bytes_useful + figures.loader.bytes_useful;
  state_.bytes_written += figures.loader.bytes_written - written;  // checkpoints add theirs
  state_.counters = before.counters;
  state_.counters += figures.loader;
  state_.epoch_seconds = before.epoch_seconds + figures.seconds;
}

// A signal may come while the loader plans the epoch, before there is a batch to stop after.
std::shared_ptr<const Batch> Trainer::next_of_epoch(BatchesAhead& batches, StageClock& steps) {
  try {
    return batches.next(steps);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInterrupted) stop_if_interrupted();
    throw;
  }
}

// Memory is pinned as it is made, also later than at the start.
void Trainer::tell_refusal() {
  if (told_refusal_ || !parts_.device.device) return;
  const std::optional<Error> why = parts_.device.device->refusal();
  if (!why) return;
  told_refusal_ = true;
  log_.warn(
      "the GPU may not read some of this machine's memory itself ({}): copies wait, and features "
      "may be gathered by the host; look at `ulimit -l` and at the memory that is free",
      why->message());
}

// A function of the step's place and of the validations before it.
void Trainer::set_rates(const Batch& batch) {
  const StepPlace place{batch.epoch,
                        static_cast<std::uint64_t>(parts_.options.train.epochs),
                        batch.index,
                        loader_->num_batches()};
  const double factor = schedule_.factor(place, state_.plateau);
  parts_.optimizer->set_learning_rate(weights_rate_ * factor);
  parts_.tables.set_rate(parts_.options.embedding.lr * factor);
}

torch::Tensor Trainer::step(const Batch& batch) {
  Model& model = *parts_.model;
  set_rates(batch);
  step_clock_.begin();
  model.train();
  const RandomKey key = parts_.key().with(batch.epoch).with(batch.index);
  model.set_step_key(key);
  if (const auto head = parts_.task->head()) head->train();
  if (parts_.partitions) parts_.partitions->go_to(batch.epoch, batch.index, parts_);
  parts_.rows->begin(batch, nn::Gradients::kWanted);
  parts_.state.begin(batch);
  const torch::Tensor loss = parts_.task->training_loss(model, batch, key);
  weighed(loss, batch).backward();
  if (ends_step(batch.index)) {
    parts_.optimizer->step();
    parts_.optimizer->zero_grad();
  }
  parts_.rows->step();
  parts_.state.commit(batch);
  step_clock_.end();
  return loss.detach();
}

// Weights that a loss which is not finite made stay so: going on would be for nothing.
void Trainer::take_loss(const torch::Tensor& loss, const Batch& batch) {
  const std::int64_t labels = parts_.task->num_labelled(batch.on_host());
  losses_.push(loss, static_cast<double>(labels));
  // A GPU does this step while the loss of the last arrives.
  losses_.settle(parts_.device.device ? 1 : 0, state_.loss_sum);
  state_.loss_labels += static_cast<std::uint64_t>(labels);
  if (std::isfinite(state_.loss_sum)) return;
  const std::string node = node_of_bad_features(parts_, batch);
  end_not_finite(node.empty() ? ErrorCode::kUsage : ErrorCode::kData,
                 fmt::format("the loss of mini-batch {} of epoch {} is not finite{}",
                             batch.index + 1,
                             batch.epoch + 1,
                             node.empty() ? std::string()
                                          : fmt::format(": features of node {} are not", node)));
}

void Trainer::check_epoch() {
  std::string what = std::isfinite(state_.loss_sum) ? "" : "the loss is";
  for (const auto& [name, tensor] : parts_.weights()) {
    if (tensor.is_floating_point() && !tensor.isfinite().all().item<bool>())
      what = fmt::format("weights '{}' are", name);
  }
  if (const std::string type = parts_.tables.not_finite(); !type.empty())
    what = fmt::format("learned rows of '{}' are", type);
  if (what.empty()) return;
  end_not_finite(ErrorCode::kUsage,
                 fmt::format("{} not finite at the end of epoch {}", what, state_.epoch + 1));
}

// What was good is kept: the last checkpoint as it stands, and the best weights.
void Trainer::end_not_finite(ErrorCode code, const std::string& message) {
  loader_->stop();
  save_best();
  throw Error(code,
              message,
              state_.best ? fmt::format("{}; weights of epoch {}, the best so far, are kept: "
                                        "sluice-train evaluate {}",
                                        kMendNotFinite,
                                        state_.best->epoch,
                                        directory_.path().string())
                          : kMendNotFinite);
}

bool Trainer::validation_due() const {
  const std::uint64_t done = state_.epoch + 1;
  const bool last = done == static_cast<std::uint64_t>(parts_.options.train.epochs);
  return validated_ && (last || done % static_cast<std::uint64_t>(parts_.options.eval.every) == 0);
}

// Whether the epoch after this one is trained on likely, and on the same dataset.
bool Trainer::next_follows() const {
  return state_.epoch + 1 < static_cast<std::uint64_t>(parts_.options.train.epochs) &&
         !parts_.options.dataset.follow;
}

// What a validation does to rows of state is no checkpoint's: training goes on without, and a test
// does it again by the weights that are tested.
void Trainer::keep_state() {
  if (!parts_.state.any()) return;
  state_.rows = commit_rows();
  parts_.tables.freeze_state(state_.rows);
}

Metrics Trainer::evaluate_part(Part part) {
  return note_evaluation(
      part, evaluate(parts_, part, plan_.loader, state_.batches_xxh3, progress_, log_));
}

Metrics Trainer::note_evaluation(Part part, Evaluation evaluation) {
  state_.batches_xxh3 = evaluation.stats.batches_xxh3;
  state_.bytes_read += evaluation.stats.bytes_read;
  state_.bytes_useful += evaluation.stats.bytes_useful;
  state_.bytes_written += evaluation.stats.bytes_written;
  state_.counters += evaluation.stats;
  state_.seconds += evaluation.seconds;
  if (part == Part::kTest) beside_ = std::move(evaluation.beside);
  return std::move(evaluation.metrics);
}

// Whether it is the best so far, which is kept. What is no figure is neither better nor worse.
bool Trainer::note_validation(const Metrics& metrics) {
  const double value = metrics.at(metric_);
  if (!std::isfinite(value)) return false;
  const bool better = !state_.best || (better_ == Better::kHigher ? value > state_.best->value
                                                                  : value < state_.best->value);
  if (schedule_.note(better, state_.plateau))
    log_.info("{} is not better: learning rates are times {} now",
              metric_,
              parts_.options.train.schedule.factor);
  if (!better) {
    ++state_.without_better;
    return false;
  }
  state_.without_better = 0;
  state_.best = BestEpoch{state_.epoch + 1, value, metrics, clone_of(parts_.weights()), {}};
  state_.best->rows = state_.rows = commit_rows();
  return true;
}

void Trainer::end_epoch(const EpochFigures& figures, const Metrics& valid, bool best) {
  note_moved();
  EpochLine line;
  line.epoch = state_.epoch + 1;
  line.epochs = static_cast<std::uint64_t>(parts_.options.train.epochs);
  line.metrics = valid;
  line.shown = metric_;
  line.metrics["train.loss"] = state_.loss_sum / static_cast<double>(state_.loss_labels);
  line.best = best;
  line.seconds = state_.epoch_seconds;
  line.seeds_per_second =
      figures.seconds > 0 ? static_cast<double>(figures.seeds) / figures.seconds : 0;
  line.bytes_read = figures.loader.bytes_read + moved_.read;
  line.bytes_written = figures.loader.bytes_written + moved_.written;
  line.bytes_useful = figures.loader.bytes_useful;
  line.rows = figures.rows;
  line.partitions = figures.partitions;
  line.counters += figures.loader;
  line.bound = bound_of(figures.loader.stages, figures.seconds, figures.rows.waited);
  line.generation = parts_.dataset.generation();
  directory_.append_metrics(to_json_line(line));
  log_.info("{}", to_text(line));
  for (const std::string& plan : figures.loader.plans) log_.debug("plan of the epoch: {}", plan);
  state_.plan = plan_name(figures.loader);
  state_.bytes_read += moved_.read;
  moved_ = {};
  state_.last_loss = line.metrics["train.loss"];
  state_.epochs.push_back(state_.epoch_seconds);
  state_.seconds += state_.epoch_seconds;
  state_.epoch_seconds = 0;
  state_.loss_sum = 0;
  state_.loss_seeds = 0;
  state_.loss_labels = 0;
  state_.next_batch = 0;
  ++state_.epoch;
  ++state_.metrics_lines;
  saved_ = false;
}

void Trainer::checkpoint() {
  const TraceSpan span(parts_.trace, "checkpoint");
  losses_.settle(0, state_.loss_sum);
  save_best();
  state_.rows = commit_rows();
  save(CheckpointKind::kLast);
  named_ = {state_.rows, best_rows_};
  if (state_.best) named_.push_back(state_.best->rows);
  keep_rows(state_.rows);
  last_checkpoint_ = Clock::now();
  saved_ = true;
}

void Trainer::save_best() {
  if (!state_.best || state_.best->epoch == best_written_) return;
  save(CheckpointKind::kBest);
  best_written_ = state_.best->epoch;
  best_rows_ = state_.best->rows;
  named_.push_back(best_rows_);
}

void Trainer::save(CheckpointKind kind) {
  state_.bytes_written +=
      save_checkpoint(directory_.checkpoint_path(kind), kind, parts_, config_, state_);
}

void Trainer::stop_if_interrupted() {
  if (!interrupted()) return;
  loader_->stop();
  if (!saved_ && between_steps()) checkpoint();
  throw Error(
      ErrorCode::kInterrupted,
      fmt::format("interrupted in epoch {} after {} of {} mini-batches; a checkpoint is written",
                  state_.epoch + 1,
                  state_.next_batch,
                  loader_->num_batches()),
      resume_hint());
}

std::string Trainer::resume_hint() const {
  return fmt::format("go on with: sluice-train resume {}", directory_.path().string());
}

Metrics Trainer::test() {
  if (state_.best) copy_into(parts_.weights(), state_.best->weights);
  const RowGenerations& rows = state_.best ? state_.best->rows : state_.rows;
  try {
    if (tests_by_layer()) {
      if (std::optional<Metrics> metrics = test_by_layer(rows)) return *std::move(metrics);
      go_back_to_batches(rows);
    }
    begin_test(rows);
    if (parts_.count(Part::kTest) == 0) return {};
    return evaluate_part(Part::kTest);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInterrupted) throw;
    throw Error(ErrorCode::kInterrupted,
                "interrupted while testing; training is done and its checkpoint written",
                resume_hint());
  }
}

}  // namespace sluice
