#include "core/side_thread.h"

#include <utility>

namespace sluice {

SideThread::SideThread() : thread_([this] { run(); }) {}

SideThread::~SideThread() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !work_; });
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void SideThread::begin(std::function<void()> work) {
  wait();
  const std::scoped_lock lock(mutex_);
  work_ = std::move(work);
  changed_.notify_all();
}

void SideThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !work_; });
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void SideThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || work_; });
    if (!work_) return;
    lock.unlock();
    try {
      work_();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    lock.lock();
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace sluice
