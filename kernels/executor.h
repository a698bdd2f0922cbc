// Executor: where a kernel runs. First argument of every kernel.
//
// A kernel is declared once, in `kernels/<name>.h`; its CPU body is in `kernels/cpu/`, and a CUDA
// twin has the same signature in the CUDA library, with a stream in its executor. All kernels read
// and write borrowed memory, allocate nothing, return when the work is done, and give the same bits
// for any number of threads: one output row is summed by one thread, in list order.
#pragma once

namespace sluice {
class ThreadArena;
}

namespace sluice::kernels {

/// Borrows what it points to; cheap to copy.
struct Executor {
  ThreadArena* threads = nullptr;  ///< null: the calling thread alone
};

}  // namespace sluice::kernels
