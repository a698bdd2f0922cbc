#include "core/cpu_isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

namespace sluice {
namespace {

constexpr std::array kAllIsas{CpuIsa::kBaseline, CpuIsa::kAvx2, CpuIsa::kAvx512};

CpuIsa newest_of(const CpuFeatures& features) {
  if (!features.avx2) return CpuIsa::kBaseline;
  return features.avx512 ? CpuIsa::kAvx512 : CpuIsa::kAvx2;
}

}  // namespace

std::string_view to_string(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kBaseline:
      return "baseline";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvx512:
      return "avx512";
  }
  return {};
}

CpuFeatures cpu_features() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return {__builtin_cpu_supports("sse4.2") != 0,
          __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") &&
              __builtin_cpu_supports("bmi2"),
          __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl")};
#else
  return {true, false, false};
#endif
}

std::string cpu_name() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

Result<CpuIsa> choose_cpu_isa(const CpuFeatures& features, const char* most) {
  if (!features.sse42) {
    return Error(ErrorCode::kResource,
                 "this processor lacks SSE4.2, the least that Sluice's libraries need",
                 "run it on an x86-64 processor of 2009 or later (x86-64-v2); in a virtual machine "
                 "let the guest see the host's processor");
  }
  const CpuIsa newest = newest_of(features);
  if (most == nullptr || *most == '\0') return newest;
  for (const CpuIsa isa : kAllIsas) {
    if (to_string(isa) == most) return std::min(isa, newest);
  }
  return Error(ErrorCode::kUsage,
               fmt::format("the environment's {} is '{}', which is no instruction set of Sluice's",
                           kMaxCpuIsaVariable,
                           most),
               "set it to baseline, avx2 or avx512, or leave it out: what the processor has is "
               "used then");
}

CpuIsa cpu_isa() {
  static const CpuIsa chosen = [] {
    const auto isa = choose_cpu_isa(cpu_features(), std::getenv(kMaxCpuIsaVariable));
    return isa ? isa.value() : CpuIsa::kBaseline;
  }();
  return chosen;
}

}  // namespace sluice
