// The instruction sets that the CPU kernels are compiled for. Which of them runs is chosen when the
// program runs (core/cpu_isa.h), so that one binary serves every x86-64 and is fast on the newest.
//
// The bodies are written once; versions differ in the width of their registers alone. No multiply
// and add are fused and sums have a fixed order, so all give the same bits.
#pragma once

#if defined(__x86_64__)
#define SLUICE_X86 1
// `flatten` inlines the body, so that it is compiled for the version's registers.
#define SLUICE_FOR_AVX2 __attribute__((target("avx2,f16c,bmi2"), flatten))
// GCC would use half of the widest registers; clang uses them whole, and ignores a `target` with a
// word that it does not know.
#if defined(__clang__)
#define SLUICE_WHOLE_REGISTERS
#else
#define SLUICE_WHOLE_REGISTERS ",prefer-vector-width=512"
#endif
#define SLUICE_FOR_AVX512                                                                 \
  __attribute__((                                                                         \
      target("avx2,f16c,bmi2,avx512f,avx512vl,avx512bw,avx512dq" SLUICE_WHOLE_REGISTERS), \
      flatten))
#endif
