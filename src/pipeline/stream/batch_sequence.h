// BatchSequence: the mini-batches of an epoch from one on, one after the other, sampled in groups.
// Used by one thread.
#pragma once

#include "pipeline/stream/batch_sampler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <utility>
#include <vector>

namespace sluice {

class BatchSequence {
 public:
  /// @param sampler borrowed; nobody else's meanwhile
  /// @param ahead 0, or where the next group is sampled on another thread while this one is taken:
  /// batches of a group, for threads that wait for each other at its end do so seldom in a large
  /// one
  BatchSequence(BatchSampler& sampler, const LoaderStart& where, std::size_t ahead = 0)
      : sampler_(sampler), epoch_(where.epoch), next_(where.first_batch), least_(ahead) {}

  BatchSequence(const BatchSequence&) = delete;
  BatchSequence& operator=(const BatchSequence&) = delete;

  /// The one that take() would take; null at the end of the epoch. Throws Error.
  const Batch* peek() {
    if (sampled_.empty()) {
      for (Batch& batch : ahead_.valid() ? ahead_.get() : next_group())
        sampled_.push_back(std::move(batch));
      if (least_ > 0) ahead_ = std::async(std::launch::async, [this] { return next_group(); });
    }
    return sampled_.empty() ? nullptr : &sampled_.front();
  }

  /// @pre not at the end
  Batch take() {
    (void)peek();
    Batch batch = std::move(sampled_.front());
    sampled_.pop_front();
    return batch;
  }

 private:
  std::vector<Batch> next_group() {
    const std::uint64_t batches = sampler_.setting().queries.num_batches();
    const std::uint64_t left = batches - std::min(batches, next_);
    const auto count = std::min<std::uint64_t>(std::max(sampler_.group_size(), least_), left);
    std::vector<Batch> group = sampler_.sample(epoch_, next_, count);
    next_ += group.size();
    return group;
  }

  BatchSampler& sampler_;
  std::uint64_t epoch_;
  std::uint64_t next_;  // of the next group
  std::size_t least_;
  std::deque<Batch> sampled_;
  std::future<std::vector<Batch>> ahead_;  // last: its end waits, and it uses the others
};

}  // namespace sluice
