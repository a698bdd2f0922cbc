// ThreadArena: the data threads of a run: the kernels of a model, and whatever is divided over
// independent indices. Results never depend on how many there are.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace sluice {

/// `threads` workers, the caller included; far more than cores take turns. Thread-safe.
class ThreadArena {
 public:
  /// @param threads 0: all available cores. Throws Error(kUsage) below that and beyond 4096.
  explicit ThreadArena(int threads = 0);
  ThreadArena(const ThreadArena&) = delete;
  ThreadArena& operator=(const ThreadArena&) = delete;
  ~ThreadArena();

  int threads() const noexcept { return threads_; }

  /// Runs `work(index)` for each index of [0, count), each as a task of its own; returns when all
  /// are done. The first exception passes to the caller. Under ThreadSanitizer plain threads do it,
  /// as TBB is not instrumented.
  void for_each(std::size_t count, const std::function<void(std::size_t index)>& work);

  /// Runs `work(begin, end)` over [0, count) in pieces of `grain` (the last may be shorter).
  void for_ranges(std::size_t count,
                  std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& work);

 private:
  struct Arena;
  int threads_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace sluice
