// The newest instruction set that Sluice's own code uses here: what the processor has, and no newer
// than the environment's SLUICE_MAX_CPU_ISA. The switch is for tests, and for looking into trouble.
//
// Libraries choose for themselves (ATEN_CPU_CAPABILITY, MKL_ENABLE_INSTRUCTIONS,
// ONEDNN_MAX_CPU_ISA). Thread-safe.
#pragma once

#include <sluice/cpu_isa.h>
#include <sluice/error.h>

#include <string>
#include <string_view>

namespace sluice {

/// "baseline", "avx2" or "avx512": as SLUICE_MAX_CPU_ISA takes them.
std::string_view to_string(CpuIsa isa);

inline constexpr const char* kMaxCpuIsaVariable = "SLUICE_MAX_CPU_ISA";

/// What a processor has, and the system saves the registers of.
struct CpuFeatures {
  bool sse42 = false;   ///< the least that Arrow and LibTorch need; true where there is no x86
  bool avx2 = false;    ///< all of CpuIsa::kAvx2
  bool avx512 = false;  ///< all of CpuIsa::kAvx512
};

CpuFeatures cpu_features();
/// What it calls itself; empty where the system does not say.
std::string cpu_name();

/// The newest of `features`, and no newer than `most` says: null, empty, or a name. Errors: kUsage
/// for any other word; kResource where the processor lacks the least.
Result<CpuIsa> choose_cpu_isa(const CpuFeatures& features, const char* most);

/// This process's, looked up once. What the tools refuse at their start (choose_cpu_isa) is the
/// baseline here.
CpuIsa cpu_isa();

}  // namespace sluice
