// How the CPU kernels split their rows over threads, and get compiled for several instruction sets.
#pragma once

#include "core/cpu_isa.h"
#include "core/threads.h"
#include "kernels/cpu/isa.h"

#include <sluice/executor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sluice::kernels::cpu {

/// Elements a task should touch: enough to hide what starting it costs.
inline constexpr std::int64_t kElementsPerTask = 1 << 15;

/// A kernel's body, `work(begin, end)` over rows, once for each instruction set.
template <class Work>
struct Versions {
  using Run = void (*)(const Work& work, std::int64_t begin, std::int64_t end);

  static void baseline(const Work& work, std::int64_t begin, std::int64_t end) { work(begin, end); }
#ifdef SLUICE_X86
  SLUICE_FOR_AVX2 static void avx2(const Work& work, std::int64_t begin, std::int64_t end) {
    work(begin, end);
  }
  SLUICE_FOR_AVX512 static void avx512(const Work& work, std::int64_t begin, std::int64_t end) {
    work(begin, end);
  }
#endif

  static Run of(Isa isa) {
#ifdef SLUICE_X86
    if (isa == Isa::kAvx512) return avx512;
    if (isa == Isa::kAvx2) return avx2;
#endif
    (void)isa;
    return baseline;
  }
};

/// Runs work(begin, end) over [0, count); `elements` is about what all rows together touch. Pieces
/// depend on threads, results must not.
template <class Work>
void for_rows(const Executor& executor,
              std::int64_t count,
              std::int64_t elements,
              const Work& work) {
  if (count <= 0) return;
  const auto run = Versions<Work>::of(std::min(executor.isa, cpu_isa()));
  if (executor.threads == nullptr || executor.threads->threads() == 1 ||
      elements <= 2 * kElementsPerTask) {
    run(work, 0, count);
    return;
  }
  const std::int64_t tasks = std::clamp<std::int64_t>(elements / kElementsPerTask, 1, count);
  const std::int64_t grain = (count + tasks - 1) / tasks;
  executor.threads->for_ranges(
      static_cast<std::size_t>(count),
      static_cast<std::size_t>(grain),
      [&work, run](std::size_t begin, std::size_t end) {
        run(work, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
      });
}

}  // namespace sluice::kernels::cpu
