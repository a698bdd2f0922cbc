#include "core/side_thread.h"

#include <utility>

namespace sluice {

SideThread::SideThread() : thread_([this] { run(); }) {}

SideThread::~SideThread() {
  {
    MutexLock lock(mutex_);
    while (busy_) changed_.wait(lock);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void SideThread::begin(std::function<void()> work) {
  wait();
  const MutexLock lock(mutex_);
  work_ = std::move(work);
  busy_ = true;
  changed_.notify_all();
}

void SideThread::wait() {
  MutexLock lock(mutex_);
  while (busy_) changed_.wait(lock);
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void SideThread::run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && !work_) changed_.wait(lock);
    if (!work_) return;
    std::function<void()> work = std::exchange(work_, nullptr);
    lock.unlock();
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    work = nullptr;  // what it holds goes before anybody is told
    lock.lock();
    thrown_ = thrown;
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace sluice
