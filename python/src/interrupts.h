// Long calls that Ctrl-C ends: the work goes on on a thread of its own, which is waited for without
// the interpreter's lock, and signals are looked at in between.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace sluice::python {

inline constexpr std::chrono::milliseconds kLookAround{50};

/// Throws what Python's signal handlers raise. With the interpreter's lock.
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

/// Threads whose result nobody waits for any more. The interpreter waits for them at its end.
void leave_behind(std::thread thread);
void join_left_behind();

/// Runs `work`, which must own all that it touches: when a signal raises, it goes on alone, and
/// what it makes is dropped.
template <class Work>
auto interruptible(Work work) {
  using Made = decltype(work());
  auto task = std::make_shared<std::packaged_task<Made()>>(std::move(work));
  std::future<Made> made = task->get_future();
  std::thread thread([task = std::move(task)]() mutable {
    (*task)();
    task.reset();  // with what it owns
  });
  for (;;) {
    bool ready = false;
    {
      const nanobind::gil_scoped_release release;
      ready = made.wait_for(kLookAround) == std::future_status::ready;
    }
    if (ready) break;
    if (PyErr_CheckSignals() == 0) continue;
    leave_behind(std::move(thread));
    throw nanobind::python_error();
  }
  {
    const nanobind::gil_scoped_release release;
    thread.join();
  }
  return made.get();
}

}  // namespace sluice::python
