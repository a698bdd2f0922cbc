// SideThread: a thread that does one piece of work at a time beside its owner, again and again.
//
// A new thread for each piece costs little by itself, but its stack is mapped, and whoever maps
// memory waits for those who make pages of other memory (PagesAhead): 5 ms for a fresh huge one on
// a virtual machine. Used by one thread.
#pragma once

#include "core/condition_variable.h"

#include <sluice/mutex.h>

#include <exception>
#include <functional>
#include <thread>

namespace sluice {

class SideThread {
 public:
  SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;
  /// Waits for what was begun; its exception is dropped.
  ~SideThread();

  /// Waits for what was begun before, as wait() does, and begins `work`.
  void begin(std::function<void()> work);
  /// Returns when nothing is being done. Throws what the work threw, once.
  void wait();

 private:
  void run();

  Mutex mutex_;
  ConditionVariable changed_;
  std::function<void()> work_ SLUICE_GUARDED_BY(mutex_);  // to be begun
  bool busy_ SLUICE_GUARDED_BY(mutex_) = false;           // from then until it is done
  std::exception_ptr thrown_ SLUICE_GUARDED_BY(mutex_);
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace sluice
