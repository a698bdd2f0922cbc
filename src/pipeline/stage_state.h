// What the loader's stages share while they run: the windows that are still read from, and what
// they have counted so far.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sluice {

// Ends the fetching thread when the run is stopped while it waits.
struct Stopped {};

// Windows that are read in and whose rows may still be read from.
class WindowsInUse {
 public:
  void add() {
    const std::scoped_lock lock(mutex_);
    ++count_;
  }
  void remove() {
    const std::scoped_lock lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  void cancel() {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  /// Throws Stopped once cancelled.
  void wait_for_none() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return cancelled_ || count_ == 0; });
    if (cancelled_) throw Stopped{};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  bool cancelled_ = false;
};

// How many mini-batches the consumer has asked for and not got.
class Demand {
 public:
  void ask() {
    const std::scoped_lock lock(mutex_);
    ++asked_;
    changed_.notify_all();
  }
  void cancel() {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  /// Waits until one is asked for. False once cancelled.
  bool wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return cancelled_ || asked_ > 0; });
    if (cancelled_) return false;
    --asked_;
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t asked_ = 0;
  bool cancelled_ = false;
};

// What one thread counts, for others to look at.
template <class Counts>
class Shared {
 public:
  void set(const Counts& counts) {
    const std::scoped_lock lock(mutex_);
    counts_ = counts;
  }
  Counts get() const {
    const std::scoped_lock lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  Counts counts_{};
};

}  // namespace sluice
