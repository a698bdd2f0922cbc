// SharedMutex: std::shared_mutex with the marks of sluice/mutex.h. Many readers at a time, or one
// writer.
#pragma once

#include <sluice/mutex.h>

#include <mutex>
#include <shared_mutex>

namespace sluice {

class SLUICE_CAPABILITY SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;
  ~SharedMutex() = default;

 private:
  friend class ReadLock;
  friend class WriteLock;
  std::shared_mutex mutex_;
};

class SLUICE_SCOPED_CAPABILITY ReadLock {
 public:
  explicit ReadLock(SharedMutex& mutex) SLUICE_ACQUIRE_SHARED(mutex) : lock_(mutex.mutex_) {}
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;
  ~ReadLock() SLUICE_RELEASE() {}

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

class SLUICE_SCOPED_CAPABILITY WriteLock {
 public:
  explicit WriteLock(SharedMutex& mutex) SLUICE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  ~WriteLock() SLUICE_RELEASE() {}

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace sluice
