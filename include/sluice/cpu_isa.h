// CpuIsa: the instruction sets that Sluice's own code is compiled for. All of them give the same
// bits. The environment's SLUICE_MAX_CPU_ISA caps what is used (baseline, avx2, avx512).
#pragma once

#include <cstdint>

namespace sluice {

/// Oldest first.
enum class CpuIsa : std::uint8_t {
  kBaseline,  ///< what every x86-64 has; all that there is on other processors
  kAvx2,      ///< with F16C and BMI2
  kAvx512     ///< F, BW, CD, DQ and VL
};

}  // namespace sluice
