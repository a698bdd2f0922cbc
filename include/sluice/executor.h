// Executor: where a kernel runs. First argument of every kernel.
//
// A kernel is declared once, in `kernels/<name>.h`; its CPU body is in `kernels/cpu/`, its CUDA
// twin in `kernels/cuda/`, with the same signature, in the CUDA library. A KernelTable holds the
// kernels of one device; `on(executor)` is the table to call through where either may run. All
// kernels read and write borrowed memory, allocate nothing, and give the same bits for any number
// of threads: one output row is summed by one thread, in list order. On the CPU they return when
// the work is done; on a device they queue it on the executor's stream, and memory is the device's,
// or pinned.
#pragma once

#include <sluice/cpu_isa.h>

namespace sluice {
class ThreadArena;
}

namespace sluice::kernels {

struct KernelTable;

/// Instruction sets that the CPU kernels are compiled for.
using Isa = CpuIsa;

/// Borrows what it points to; cheap to copy.
struct Executor {
  ThreadArena* threads = nullptr;      ///< null: the calling thread alone
  const KernelTable* table = nullptr;  ///< null: the CPU's
  void* stream = nullptr;              ///< of the table's device: the queue to work on
  Isa isa = Isa::kAvx512;  ///< on the CPU: no newer than cpu_isa() and this; the bits are the same
};

}  // namespace sluice::kernels
