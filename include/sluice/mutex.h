// Mutex and MutexLock: std::mutex and std::unique_lock, with the marks by which clang checks
// (-Wthread-safety, scripts/check) that what a mutex guards is touched under it alone. Other
// compilers see the standard library's types and nothing else. core/condition_variable.h waits on
// them, core/shared_mutex.h is for readers side by side.
//
//   mutable Mutex mutex_;
//   std::deque<Job> jobs_ SLUICE_GUARDED_BY(mutex_);
//   void start_locked() SLUICE_REQUIRES(mutex_);
#pragma once

#include <mutex>

#if defined(__clang__)
#define SLUICE_THREAD_SAFETY(mark) __attribute__((mark))
#else
#define SLUICE_THREAD_SAFETY(mark)
#endif

/// Of a member: read and written under the mutex alone. _PT_: what it points to.
#define SLUICE_GUARDED_BY(mutex) SLUICE_THREAD_SAFETY(guarded_by(mutex))
#define SLUICE_PT_GUARDED_BY(mutex) SLUICE_THREAD_SAFETY(pt_guarded_by(mutex))
/// Of a function: its caller holds the mutex; shares it; does not hold it.
#define SLUICE_REQUIRES(...) SLUICE_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define SLUICE_REQUIRES_SHARED(...) SLUICE_THREAD_SAFETY(requires_shared_capability(__VA_ARGS__))
#define SLUICE_EXCLUDES(...) SLUICE_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
/// Of a function that clang cannot follow: say beside it why it is right.
#define SLUICE_UNCHECKED_LOCKS SLUICE_THREAD_SAFETY(no_thread_safety_analysis)
/// Of mutexes and locks themselves.
#define SLUICE_CAPABILITY SLUICE_THREAD_SAFETY(capability("mutex"))
#define SLUICE_SCOPED_CAPABILITY SLUICE_THREAD_SAFETY(scoped_lockable)
#define SLUICE_ACQUIRE(...) SLUICE_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define SLUICE_ACQUIRE_SHARED(...) SLUICE_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define SLUICE_RELEASE(...) SLUICE_THREAD_SAFETY(release_capability(__VA_ARGS__))

namespace sluice {

class SLUICE_CAPABILITY Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex() = default;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex from here to the end of the block; unlock() and lock() let go of it in between.
class SLUICE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SLUICE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() SLUICE_RELEASE() {}

  void lock() SLUICE_ACQUIRE() { lock_.lock(); }
  void unlock() SLUICE_RELEASE() { lock_.unlock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace sluice
