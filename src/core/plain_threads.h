// Workers of a ThreadArena made of the standard library alone: oneTBB is not built for thread
// sanitizers, which would report what they cannot see of its locks.
#pragma once

#include "core/condition_variable.h"

#include <sluice/mutex.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace sluice {

/// Threads that stay until the pool goes: making one for every loop is most of a sanitized test's
/// time. Any number of threads may run loops at once, and loops may run loops: who calls works on
/// its own loop, so it never waits for a helper that has not begun.
class PlainThreads {
 public:
  /// Helpers besides whoever calls run(); started by the first loop.
  explicit PlainThreads(int helpers) : most_(helpers) {}
  PlainThreads(const PlainThreads&) = delete;
  PlainThreads& operator=(const PlainThreads&) = delete;

  ~PlainThreads() {
    {
      const MutexLock lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
  }

  /// Calls work with each of 0 ... count - 1 and returns when all are done. Of what is thrown, the
  /// first is passed on; indexes not begun by then are left out.
  void run(std::size_t count, const std::function<void(std::size_t)>& work) {
    Loop loop(count, work, std::min(static_cast<std::size_t>(most_), count - 1));
    {
      const MutexLock lock(mutex_);
      start();
      if (loop.wanted > 0) loops_.push_back(&loop);
    }
    changed_.notify_all();
    loop.step();
    MutexLock lock(mutex_);
    std::erase(loops_, &loop);
    while (loop.helpers != 0) left_.wait(lock);
    lock.unlock();
    loop.rethrow();
  }

 private:
  struct Loop {
    Loop(std::size_t indexes, const std::function<void(std::size_t)>& task, std::size_t more)
        : count(indexes), work(task), wanted(more) {}

    void step() {
      for (std::size_t index = next++; index < count; index = next++) {
        try {
          work(index);
        } catch (...) {
          const MutexLock lock(failing);
          if (!failure) failure = std::current_exception();
          next = count;
        }
      }
    }

    void rethrow() {
      const MutexLock lock(failing);
      if (failure) std::rethrow_exception(failure);
    }

    const std::size_t count;
    const std::function<void(std::size_t)>& work;
    std::atomic<std::size_t> next{0};
    std::size_t wanted;       // helpers that may still join; under the pool's lock
    std::size_t helpers = 0;  // at work; under the pool's lock
    Mutex failing;
    std::exception_ptr failure SLUICE_GUARDED_BY(failing);
  };

  void start() SLUICE_REQUIRES(mutex_) {
    while (threads_.size() < static_cast<std::size_t>(most_))
      threads_.emplace_back([this] { help(); });
  }

  void help() {
    MutexLock lock(mutex_);
    for (;;) {
      while (!over_ && loops_.empty()) changed_.wait(lock);
      if (over_) return;
      Loop& loop = *loops_.front();
      ++loop.helpers;
      if (--loop.wanted == 0) loops_.pop_front();
      lock.unlock();
      loop.step();
      lock.lock();
      if (--loop.helpers == 0) left_.notify_all();
    }
  }

  const int most_;
  Mutex mutex_;
  ConditionVariable changed_;
  ConditionVariable left_;
  std::deque<Loop*> loops_ SLUICE_GUARDED_BY(mutex_);  // that helpers may join
  bool over_ SLUICE_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_ SLUICE_GUARDED_BY(mutex_);  // last: they use the others
};

}  // namespace sluice
