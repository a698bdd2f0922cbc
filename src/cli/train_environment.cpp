#include "cli/train_environment.h"

#include "core/cpu_isa.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <stdlib.h>  // setenv
#include <unistd.h>

namespace sluice::cli {
namespace {

// Null: not set.
const char* value_of(char** environment, std::string_view name) {
  for (char** entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(name) && text.substr(name.size()).starts_with('='))
      return *entry + name.size() + 1;
  }
  return nullptr;
}

const char* mkl_branch(char** environment) {
  // What caps MKL caps the branch too, which it would not heed otherwise.
  if (const char* most = value_of(environment, "MKL_ENABLE_INSTRUCTIONS")) return most;
  const CpuFeatures cpu = cpu_features();
  if (cpu.avx512) return "AVX512";
  return cpu.avx2 ? "AVX2" : "COMPATIBLE";
}

struct Setting {
  const char* name;
  const char* value;
};

//   MKL_CBWR        MKL picks code by CPU and alignment otherwise, and results with it. The same
//                   on all CPUs with AVX-512, and on all others: a fifth faster than AVX2 for all.
//                   MKL takes it so on Intel's alone
//   GOMP_SPINCOUNT  GNU OpenMP's waiting threads take the data threads' cores otherwise. Some
//                   microseconds are less than sleeping takes: 1000 turns are an eighth off a small
//                   model's epoch, 30,000 a fifth on
//   GLIBC_TUNABLES  large buffers go back to the system when they are freed, so that the process
//                   stays near its budget (up to 200 MiB of fragments otherwise); huge pages make
//                   that as fast as keeping them. A lower threshold than 4 MiB would save 20 MiB
//                   more, and make steps in memory a quarter slower
std::array<Setting, 3> settings(char** environment) {
  return {{{"MKL_CBWR", mkl_branch(environment)},
           {"GOMP_SPINCOUNT", "1000"},
           {"GLIBC_TUNABLES",
            "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4194304:glibc.malloc.arena_max="
            "2"}}};
}

}  // namespace

void fix_environment(char** argv, char** environment) {
  std::vector<std::string> missing;
  for (const auto& [name, value] : settings(environment)) {
    if (value_of(environment, name) == nullptr) missing.push_back(std::string(name) + "=" + value);
  }
  if (missing.empty()) return;
  std::vector<char*> fixed;
  for (char** entry = environment; *entry != nullptr; ++entry) fixed.push_back(*entry);
  for (std::string& entry : missing) fixed.push_back(entry.data());
  fixed.push_back(nullptr);
  ::execve("/proc/self/exe", argv, fixed.data());
}

void set_environment(char** environment) {
  constexpr int kKeep = 0;
  for (const auto& [name, value] : settings(environment)) ::setenv(name, value, kKeep);
}

}  // namespace sluice::cli
