// BatchesAhead: the mini-batches of a loader in order, one of them ahead of who takes them where
// rows of nodes are on disk: its rows are announced before the step of the one before, so that they
// are read meanwhile. Used by one thread.
#pragma once

#include "train/parts.h"

#include <sluice/loader.h>

#include <memory>

namespace sluice {

class StageClock;

class BatchesAhead {
 public:
  /// @param loader that was started; both outlive this
  BatchesAhead(Loader& loader, Parts& parts);
  BatchesAhead(const BatchesAhead&) = delete;
  BatchesAhead& operator=(const BatchesAhead&) = delete;
  ~BatchesAhead();

  /// The next one, null at the end. Throws what the loader and tables throw.
  std::shared_ptr<const Batch> next(StageClock& steps);
  /// The loader's, as of the mini-batch that next() gave last: not of the one ahead.
  LoaderStats stats() const;

 private:
  struct Taken {
    std::shared_ptr<const Batch> batch;
    LoaderStats stats;
  };
  Taken take(StageClock& steps);

  Loader& loader_;
  nn::LearnedRows& rows_;
  ModelState& state_;
  const bool ahead_;
  bool begun_ = false;
  Taken next_;         // announced
  LoaderStats given_;  // of what was given last
};

}  // namespace sluice
