// How the CPU kernels split their rows over threads.
#pragma once

#include "core/threads.h"
#include "kernels/executor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sluice::kernels::cpu {

/// Elements a task should touch: enough to hide what starting it costs.
inline constexpr std::int64_t kElementsPerTask = 1 << 15;

/// Runs work(begin, end) over [0, count); `elements` is about what all rows together touch. Pieces
/// depend on threads, results must not.
template <class Work>
void for_rows(const Executor& executor,
              std::int64_t count,
              std::int64_t elements,
              const Work& work) {
  if (count <= 0) return;
  if (executor.threads == nullptr || executor.threads->threads() == 1 ||
      elements <= 2 * kElementsPerTask) {
    work(std::int64_t{0}, count);
    return;
  }
  const std::int64_t tasks = std::clamp<std::int64_t>(elements / kElementsPerTask, 1, count);
  const std::int64_t grain = (count + tasks - 1) / tasks;
  executor.threads->for_ranges(static_cast<std::size_t>(count),
                               static_cast<std::size_t>(grain),
                               [&work](std::size_t begin, std::size_t end) {
                                 work(static_cast<std::int64_t>(begin),
                                      static_cast<std::int64_t>(end));
                               });
}

}  // namespace sluice::kernels::cpu
