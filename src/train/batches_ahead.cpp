#include "train/batches_ahead.h"

#include "train/evaluation.h"

#include <utility>

namespace sluice {
namespace {

// Of an epoch's first step as many are taken as are wanted: nothing is there to be computed
// meanwhile. Then a window fills up while the one before it is computed.
constexpr int kMostAtOnce = 2;

}  // namespace

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

void BatchesAhead::take(StageClock& steps) {
  Taken taken;
  taken.batch = next_batch(loader_, steps);
  taken.stats = loader_.stats();
  if (taken.batch) {
    rows_.expect(*taken.batch);
    state_.expect(*taken.batch);
  }
  ended_ = taken.batch == nullptr;
  taken_.push_back(std::move(taken));
}

// What is given is out of the list first: with it one fewer is held while others are taken.
std::shared_ptr<const Batch> BatchesAhead::next(StageClock& steps) {
  if (!ahead_) return next_batch(loader_, steps);
  if (taken_.empty() && !ended_) take(steps);
  if (taken_.empty()) return nullptr;
  Taken next = std::move(taken_.front());
  taken_.pop_front();
  given_ = std::move(next.stats);
  for (int more = 0;
       !ended_ && rows_.wants_more() && state_.wants_more() && (!begun_ || more < kMostAtOnce);
       ++more)
    take(steps);
  begun_ = true;
  return std::move(next.batch);
}

LoaderStats BatchesAhead::stats() const {
  return ahead_ ? given_ : loader_.stats();
}

}  // namespace sluice
