// ConditionVariable: std::condition_variable for a MutexLock. It takes no predicate: clang does not
// see that one is called under the lock, and a loop says the same.
//
//   MutexLock lock(mutex_);
//   while (jobs_.empty()) changed_.wait(lock);
#pragma once

#include <sluice/mutex.h>

#include <chrono>
#include <condition_variable>

namespace sluice {

class ConditionVariable {
 public:
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

  /// May return at any time: ask again for what is waited for. @pre the lock is held
  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  /// False once the time is over.
  template <class Clock, class Duration>
  bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    return changed_.wait_until(lock.lock_, time) == std::cv_status::no_timeout;
  }

 private:
  std::condition_variable changed_;
};

}  // namespace sluice
