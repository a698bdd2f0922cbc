#include "interrupts.h"

#include <sluice/mutex.h>

#include <vector>

namespace sluice::python {
namespace {

// A process has one interpreter that ends; who is left behind is known to it alone.
struct LeftBehind {
  Mutex mutex;
  std::vector<std::thread> threads SLUICE_GUARDED_BY(mutex);
};

LeftBehind& left_behind() {
  static LeftBehind all;
  return all;
}

}  // namespace

void leave_behind(std::thread thread) {
  LeftBehind& all = left_behind();
  const MutexLock lock(all.mutex);
  all.threads.push_back(std::move(thread));
}

void join_left_behind() {
  const nanobind::gil_scoped_release release;
  LeftBehind& all = left_behind();
  const MutexLock lock(all.mutex);
  for (std::thread& thread : all.threads) thread.join();
  all.threads.clear();
}

}  // namespace sluice::python
