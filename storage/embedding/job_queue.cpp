#include "storage/embedding/job_queue.h"

#include <chrono>
#include <utility>

namespace sluice {

JobQueue::JobQueue() : thread_([this] { work(); }) {}

JobQueue::~JobQueue() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

std::uint64_t JobQueue::push(std::function<void()> job) {
  check();
  const MutexLock lock(mutex_);
  jobs_.push_back(std::move(job));
  changed_.notify_all();
  return ++pushed_;
}

void JobQueue::wait(std::uint64_t number) {
  check();
  if (number <= seen_done_) return;
  const auto begin = std::chrono::steady_clock::now();
  MutexLock lock(mutex_);
  while (done_ < number && !thrown_) changed_.wait(lock);
  waited_ns_ += static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  if (thrown_) std::rethrow_exception(thrown_);
  seen_done_ = done_;
}

void JobQueue::fail(std::exception_ptr thrown) {
  const MutexLock lock(mutex_);
  if (!thrown_) thrown_ = std::move(thrown);
  failed_ = true;
}

void JobQueue::check() {
  if (!failed_) return;
  const MutexLock lock(mutex_);
  std::rethrow_exception(thrown_);
}

void JobQueue::work() {
  MutexLock lock(mutex_);
  while (true) {
    while (!stopping_ && (jobs_.empty() || thrown_)) changed_.wait(lock);
    if (stopping_) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    std::exception_ptr thrown;
    try {
      job();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    if (thrown) {
      if (!thrown_) thrown_ = thrown;
      failed_ = true;
    } else {
      ++done_;
    }
    changed_.notify_all();
  }
}

}  // namespace sluice
