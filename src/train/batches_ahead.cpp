#include "train/batches_ahead.h"

#include "train/evaluation.h"

#include <utility>

namespace sluice {

// Where sampling and steps take turns there is one mini-batch at a time.
BatchesAhead::BatchesAhead(Loader& loader, Parts& parts)
    : loader_(loader),
      rows_(*parts.rows),
      state_(parts.state),
      ahead_((rows_.looks_ahead() || state_.looks_ahead()) && parts.placement.phases.queues()) {}

BatchesAhead::~BatchesAhead() {
  rows_.forget();
  state_.forget();
}

BatchesAhead::Taken BatchesAhead::take(StageClock& steps) {
  Taken taken;
  taken.batch = next_batch(loader_, steps);
  taken.stats = loader_.stats();
  if (taken.batch) {
    rows_.expect(*taken.batch);
    state_.expect(*taken.batch);
  }
  return taken;
}

std::shared_ptr<const Batch> BatchesAhead::next(StageClock& steps) {
  if (!ahead_) return next_batch(loader_, steps);
  if (!begun_) next_ = take(steps);
  begun_ = true;
  std::shared_ptr<const Batch> batch = std::move(next_.batch);
  given_ = std::move(next_.stats);
  next_ = {};
  if (batch) next_ = take(steps);
  return batch;
}

LoaderStats BatchesAhead::stats() const {
  return ahead_ ? given_ : loader_.stats();
}

}  // namespace sluice
