// The trainer of a run that goes on over appended data: what it begins with, steps over old and new
// mini-batches, and how much is forgotten.
#include "samplers/replay_queries.h"
#include "train/continual.h"
#include "train/evaluation.h"
#include "train/pretrained.h"
#include "train/trainer.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace sluice {

void Trainer::begin() {
  take_pretrained(parts_);
  if (!parts_.options.continual.any()) return parts_.tables.open(rows_path(), {});
  start_from(parts_, rows_path());
  with_hint("old data was tested, before the first step", [&] { state_.old_test = measure_old(); });
  // Training begins without what the test has left in rows of state.
  if (parts_.state.any()) parts_.tables.open(rows_path(), {});
}

// Old events are what a model that remembers has seen when new ones begin, whoever trained on them.
void Trainer::begin_state() {
  const bool recalls = parts_.options.continual.any() && parts_.state.any();
  const bool at_begin = state_.next_batch == 0;
  // An interruption on the way leaves rows that are no checkpoint's.
  if (recalls && at_begin && !saved_ && state_.epoch != 0) checkpoint();
  parts_.state.go_to(state_.epoch + 1);
  if (!recalls || !at_begin) return;
  const OldEra old(continual_task(parts_));
  with_hint("the model was shown old events, before the epoch",
            [&] { remember_part(parts_, Part::kAll, plan_.loader, progress_); });
}

// What is interrupted here changes nothing that is kept: the last checkpoint is gone on from, or
// the run begins anew.
void Trainer::with_hint(const char* meanwhile, const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInterrupted) throw;
    throw Error(
        ErrorCode::kInterrupted, fmt::format("interrupted while {}", meanwhile), resume_hint());
  }
}

// Whether another loader goes through data before the next epoch of training.
bool Trainer::others_between() const {
  return validation_due() || (parts_.options.continual.any() && parts_.state.any());
}

torch::Tensor Trainer::weighed(const torch::Tensor& loss, const Batch& batch) const {
  if (!parts_.replay) return loss;
  const double old = share_of_old(parts_);
  return loss * (ReplayMix::is_old(batch.index) ? old : 1 - old);
}

// An old mini-batch leaves its gradients to the new one behind it.
bool Trainer::ends_step(std::uint64_t batch) const {
  return !parts_.replay || !ReplayMix::is_old(batch);
}

bool Trainer::between_steps() const {
  return state_.next_batch == 0 || ends_step(state_.next_batch - 1);
}

std::uint64_t Trainer::seeds_of_epoch() const {
  const std::uint64_t fresh = parts_.count(Part::kTrain);
  if (!parts_.replay) return fresh;
  const ReplayedQueries old{parts_.replay, loader_->num_batches() / 2};
  return fresh + old.batches * old.in_batch(parts_.options.train.batch_size);
}

Metrics Trainer::measure_old() {
  const OldEra old(continual_task(parts_));
  if (parts_.count(Part::kTest) == 0) return {};
  if (parts_.state.any()) {
    // Parts of several stages are not one after the other in time.
    if (parts_.options.continual.since.size() > 1) return {};
    parts_.state.go_to_none();
    remember_part(parts_, Part::kTrain, plan_.loader, progress_);
  }
  Metrics figures;
  for (const auto& [name, value] : evaluate_part(Part::kTest))
    figures[name.substr(name.find('.') + 1)] = value;
  return figures;
}

std::optional<ContinualReport> Trainer::test_old() {
  if (!parts_.options.continual.any()) return std::nullopt;
  ContinualReport report = begin_continual(parts_);
  report.before = state_.old_test;
  with_hint("old data was tested; training is done and its checkpoint written",
            [&] { report.after = measure_old(); });
  report.compare(*parts_.task);
  return report;
}

}  // namespace sluice
