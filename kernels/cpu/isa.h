// Which of the instruction sets that the CPU kernels are compiled for runs: chosen when the program
// runs, so that one binary serves every x86-64 and is fast on the newest.
//
// The bodies are written once; versions differ in the width of their registers alone. No multiply
// and add are fused and sums have a fixed order, so all give the same bits.
#pragma once

#include "kernels/executor.h"

#if defined(__x86_64__)
#define SLUICE_X86 1
// `flatten` inlines the body, so that it is compiled for the version's registers.
#define SLUICE_FOR_AVX2 __attribute__((target("avx2,f16c,bmi2"), flatten))
#define SLUICE_FOR_AVX512                                                                  \
  __attribute__((                                                                          \
      target("avx2,f16c,bmi2,avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512"), \
      flatten))
#endif

namespace sluice::kernels {

namespace cpu {

/// The newest that this processor has, and the system saves the registers of.
inline Isa newest_isa() {
#ifdef SLUICE_X86
  static const Isa newest = [] {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c")) return Isa::kBaseline;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    return avx512 ? Isa::kAvx512 : Isa::kAvx2;
  }();
  return newest;
#else
  return Isa::kBaseline;
#endif
}

}  // namespace cpu
}  // namespace sluice::kernels
