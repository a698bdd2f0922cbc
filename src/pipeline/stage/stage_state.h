// What the loader's stages share while they run: the windows that are still read from, and what
// they have counted so far.
#pragma once

#include "core/condition_variable.h"

#include <sluice/mutex.h>

#include <cstdint>

namespace sluice {

// Ends the fetching thread when the run is stopped while it waits.
struct Stopped {};

// Windows that are read in and whose rows may still be read from.
class WindowsInUse {
 public:
  void add() {
    const MutexLock lock(mutex_);
    ++count_;
  }
  void remove() {
    const MutexLock lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  void cancel() {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  /// Throws Stopped once cancelled.
  void wait_for_none() {
    MutexLock lock(mutex_);
    while (!cancelled_ && count_ != 0) changed_.wait(lock);
    if (cancelled_) throw Stopped{};
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  int count_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool cancelled_ SLUICE_GUARDED_BY(mutex_) = false;
};

// How many mini-batches the consumer has asked for and not got.
class Demand {
 public:
  void ask() {
    const MutexLock lock(mutex_);
    ++asked_;
    changed_.notify_all();
  }
  void cancel() {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  /// Waits until one is asked for. False once cancelled.
  bool wait() {
    MutexLock lock(mutex_);
    while (!cancelled_ && asked_ == 0) changed_.wait(lock);
    if (cancelled_) return false;
    --asked_;
    return true;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::uint64_t asked_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool cancelled_ SLUICE_GUARDED_BY(mutex_) = false;
};

// What one thread counts, for others to look at.
template <class Counts>
class Shared {
 public:
  void set(const Counts& counts) {
    const MutexLock lock(mutex_);
    counts_ = counts;
  }
  Counts get() const {
    const MutexLock lock(mutex_);
    return counts_;
  }

 private:
  mutable Mutex mutex_;
  Counts counts_ SLUICE_GUARDED_BY(mutex_){};
};

}  // namespace sluice
