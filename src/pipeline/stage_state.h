// What the loader's stages share while they run: their times, the windows that are still read from,
// and the fetching stage's counts.
#pragma once

#include "pipeline/row_fetcher.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sluice {

// Adds the time from its making to its end to a counter of nanoseconds.
class Busy {
 public:
  explicit Busy(std::atomic<std::int64_t>& total)
      : total_(total), begin_(std::chrono::steady_clock::now()) {}
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    total_ += std::chrono::duration_cast<std::chrono::nanoseconds>(
                  std::chrono::steady_clock::now() - begin_)
                  .count();
  }

 private:
  std::atomic<std::int64_t>& total_;
  std::chrono::steady_clock::time_point begin_;
};

inline double seconds(const std::atomic<std::int64_t>& nanoseconds) {
  return 1e-9 * static_cast<double>(nanoseconds.load());
}

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

// What the fetching thread did, for others to look at.
class SharedCounts {
 public:
  void set(const FetchCounts& counts) {
    const std::scoped_lock lock(mutex_);
    counts_ = counts;
  }
  FetchCounts get() const {
    const std::scoped_lock lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  FetchCounts counts_;
};

}  // namespace sluice
