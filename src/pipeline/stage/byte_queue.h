// ByteQueue: what joins two stages. First in, first out, bounded in bytes; at least one item always
// fits, so that an item larger than the bound is slow, not stuck. Counts how long either side
// waited. Thread-safe.
#pragma once

#include "core/condition_variable.h"

#include <sluice/mutex.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

namespace sluice {

template <class Item>
class ByteQueue {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ByteQueue(std::uint64_t limit_bytes) : limit_(limit_bytes) {}

  /// Waits for room. False once the queue was cancelled: the item is dropped, the producer should
  /// end.
  bool push(Item item, std::uint64_t bytes) {
    MutexLock lock(mutex_);
    while (!cancelled_ && !items_.empty() && used_ + bytes > limit_) wait(lock, blocked_);
    if (cancelled_) return false;
    used_ += bytes;
    items_.emplace_back(std::move(item), bytes);
    changed_.notify_all();
    return true;
  }

  /// Pushes, and returns only when the consumer has taken the item: no item ever waits in between.
  bool hand_over(Item item) {
    if (!push(std::move(item), 0)) return false;
    MutexLock lock(mutex_);
    while (!cancelled_ && !items_.empty()) wait(lock, blocked_);
    return !cancelled_;
  }

  /// Waits for an item. Nothing once the queue is finished and empty, or cancelled. Rethrows what
  /// the producer failed with, after the items that it had made before.
  std::optional<Item> pop() {
    MutexLock lock(mutex_);
    while (!cancelled_ && !finished_ && items_.empty()) wait(lock, starved_);
    if (cancelled_) return std::nullopt;
    if (items_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return std::nullopt;
    }
    Item item = std::move(items_.front().first);
    used_ -= items_.front().second;
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

  /// Waits until pop() would not; false once so much time has passed.
  bool wait_for(Clock::duration most) {
    MutexLock lock(mutex_);
    const auto until = Clock::now() + most;
    const auto idle = [&]() SLUICE_REQUIRES(mutex_) {
      return !cancelled_ && !finished_ && items_.empty();
    };
    const auto begin = Clock::now();
    while (idle() && Clock::now() < until) (void)changed_.wait_until(lock, until);
    starved_ += Clock::now() - begin;
    return !idle();
  }

  /// The producer has no more; `failure` is why, when it did not end well.
  void finish(std::exception_ptr failure = nullptr) {
    const MutexLock lock(mutex_);
    finished_ = true;
    failure_ = std::move(failure);
    changed_.notify_all();
  }

  /// Wakes both sides for good.
  void cancel() {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }

  /// Seconds that producers waited for room, and consumers for items.
  double blocked() const {
    const MutexLock lock(mutex_);
    return seconds(blocked_);
  }
  double starved() const {
    const MutexLock lock(mutex_);
    return seconds(starved_);
  }

 private:
  void wait(MutexLock& lock, Clock::duration& waited) SLUICE_REQUIRES(mutex_) {
    const auto begin = Clock::now();
    changed_.wait(lock);
    waited += Clock::now() - begin;
  }

  static double seconds(const Clock::duration& duration) {
    return std::chrono::duration<double>(duration).count();
  }

  mutable Mutex mutex_;
  ConditionVariable changed_;
  const std::uint64_t limit_;
  std::deque<std::pair<Item, std::uint64_t>> items_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t used_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool finished_ SLUICE_GUARDED_BY(mutex_) = false;
  bool cancelled_ SLUICE_GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ SLUICE_GUARDED_BY(mutex_);
  Clock::duration blocked_ SLUICE_GUARDED_BY(mutex_){0};
  Clock::duration starved_ SLUICE_GUARDED_BY(mutex_){0};
};

}  // namespace sluice
