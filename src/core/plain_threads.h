// Workers of a ThreadArena made of the standard library alone: oneTBB is not built for thread
// sanitizers, which would report what they cannot see of its locks.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
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
      const std::scoped_lock lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
  }

  /// Calls work with each of 0 ... count - 1 and returns when all are done. Of what is thrown, the
  /// first is passed on; indexes not begun by then are left out.
  void run(std::size_t count, const std::function<void(std::size_t)>& work) {
    Loop loop(count, work, std::min(static_cast<std::size_t>(most_), count - 1));
    {
      const std::scoped_lock lock(mutex_);
      start();
      if (loop.wanted > 0) loops_.push_back(&loop);
    }
    changed_.notify_all();
    loop.step();
    std::unique_lock lock(mutex_);
    std::erase(loops_, &loop);
    left_.wait(lock, [&] { return loop.helpers == 0; });
    if (loop.failure) std::rethrow_exception(loop.failure);
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
          const std::scoped_lock lock(failing);
          if (!failure) failure = std::current_exception();
          next = count;
        }
      }
    }

    const std::size_t count;
    const std::function<void(std::size_t)>& work;
    std::atomic<std::size_t> next{0};
    std::size_t wanted;       // helpers that may still join; under the pool's lock
    std::size_t helpers = 0;  // at work; under the pool's lock
    std::mutex failing;
    std::exception_ptr failure;
  };

  void start() {
    while (threads_.size() < static_cast<std::size_t>(most_))
      threads_.emplace_back([this] { help(); });
  }

  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return over_ || !loops_.empty(); });
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
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable left_;
  std::deque<Loop*> loops_;  // that helpers may join
  bool over_ = false;
  std::vector<std::jthread> threads_;  // last: they use the others
};

}  // namespace sluice
