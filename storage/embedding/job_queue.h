// JobQueue: a thread that does jobs one after the other, in the order they were given. The order is
// the whole of a table's protection: a row that is written because it gives way is written before
// it is read again, because that was asked for later.
//
// After a job has thrown, no other is begun, and whoever gives or waits gets what it threw, each
// time. Used by one thread.
#pragma once

#include "core/condition_variable.h"

#include <sluice/mutex.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <thread>

namespace sluice {

class JobQueue {
 public:
  JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;
  /// Waits for the job that is being done; those after it are dropped.
  ~JobQueue();

  /// Jobs are numbered from 1.
  std::uint64_t push(std::function<void()> job);
  /// Returns when jobs up to this number are done.
  void wait(std::uint64_t number);
  void wait_all() { wait(pushed_); }
  /// Of the job that is given next.
  std::uint64_t next_number() const { return pushed_ + 1; }
  /// As if a job had thrown this.
  void fail(std::exception_ptr thrown);

  /// Wall time in wait(), of its user.
  std::uint64_t waited_ns() const { return waited_ns_; }

 private:
  void work();

  void check();

  std::uint64_t pushed_ = 0;
  std::uint64_t seen_done_ = 0;  // as the user's thread last saw it
  std::uint64_t waited_ns_ = 0;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::function<void()>> jobs_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t done_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::exception_ptr thrown_ SLUICE_GUARDED_BY(mutex_);
  std::atomic<bool> failed_ = false;  // whether it is set
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace sluice
