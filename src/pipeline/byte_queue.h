// ByteQueue: what joins two stages. First in, first out, bounded in bytes; at least one item always
// fits, so that an item larger than the bound is slow, not stuck. Counts how long either side
// waited. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace sluice {

template <class Item>
class ByteQueue {
 public:
  explicit ByteQueue(std::uint64_t limit_bytes) : limit_(limit_bytes) {}

  /// Waits for room. False once the queue was cancelled: the item is dropped, the producer should
  /// end.
  bool push(Item item, std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    wait(lock, blocked_, [&] { return cancelled_ || items_.empty() || used_ + bytes <= limit_; });
    if (cancelled_) return false;
    used_ += bytes;
    items_.emplace_back(std::move(item), bytes);
    changed_.notify_all();
    return true;
  }

  /// Pushes, and returns only when the consumer has taken the item: no item ever waits in between.
  bool hand_over(Item item) {
    if (!push(std::move(item), 0)) return false;
    std::unique_lock lock(mutex_);
    wait(lock, blocked_, [&] { return cancelled_ || items_.empty(); });
    return !cancelled_;
  }

  /// Waits for an item. Nothing once the queue is finished and empty, or cancelled. Rethrows what
  /// the producer failed with, after the items that it had made before.
  std::optional<Item> pop() {
    std::unique_lock lock(mutex_);
    wait(lock, starved_, [&] { return cancelled_ || finished_ || !items_.empty(); });
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

  /// The producer has no more; `failure` is why, when it did not end well.
  void finish(std::exception_ptr failure = nullptr) {
    const std::scoped_lock lock(mutex_);
    finished_ = true;
    failure_ = failure;
    changed_.notify_all();
  }

  /// Wakes both sides for good.
  void cancel() {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }

  /// Seconds that producers waited for room, and consumers for items.
  double blocked() const { return seconds(blocked_); }
  double starved() const { return seconds(starved_); }

 private:
  using Clock = std::chrono::steady_clock;

  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, Clock::duration& waited, Ready ready) {
    if (ready()) return;
    const auto begin = Clock::now();
    changed_.wait(lock, ready);
    waited += Clock::now() - begin;
  }

  double seconds(const Clock::duration& duration) const {
    const std::scoped_lock lock(mutex_);
    return std::chrono::duration<double>(duration).count();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Item, std::uint64_t>> items_;
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  bool finished_ = false;
  bool cancelled_ = false;
  std::exception_ptr failure_;
  Clock::duration blocked_{0};
  Clock::duration starved_{0};
};

}  // namespace sluice
