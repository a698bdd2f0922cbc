// BatchesAhead: the mini-batches of a loader in order, some of them ahead of who takes them where
// rows of nodes are on disk: their rows are announced, so that those of many are read together,
// while earlier mini-batches are computed. As many as the rows' windows have use for, within the
// memory that the plan has for them. Used by one thread.
#pragma once

#include "train/parts.h"

#include <sluice/loader.h>

#include <deque>
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
  /// The loader's, as of the mini-batch that next() gave last: not of those ahead.
  LoaderStats stats() const;

 private:
  struct Taken {
    std::shared_ptr<const Batch> batch;
    LoaderStats stats;
  };
  void take(StageClock& steps);

  Loader& loader_;
  nn::LearnedRows& rows_;
  ModelState& state_;
  const bool ahead_;
  bool begun_ = false;
  bool ended_ = false;       // the loader has no more
  std::deque<Taken> taken_;  // announced
  LoaderStats given_;        // of what was given last
};

}  // namespace sluice
