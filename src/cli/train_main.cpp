#include <sluice/train.h>

#include "cli/train_commands.h"
#include "core/cpu_isa.h"
#include "core/interrupt.h"

#include <unistd.h>

#include <stdlib.h>  // setenv
#include <cstdlib>
#include <utility>

namespace sluice {
namespace {

const char* mkl_branch() {
  // What caps MKL caps the branch too, which it would not heed otherwise.
  if (const char* most = std::getenv("MKL_ENABLE_INSTRUCTIONS")) return most;
  const CpuFeatures cpu = cpu_features();
  if (cpu.avx512) return "AVX512";
  return cpu.avx2 ? "AVX2" : "COMPATIBLE";
}

}  // namespace

// What must be in the environment before the libraries are loaded, which is before main:
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
// So where one is not set, the program starts anew.
void prepare_process(char** argv) {
  const std::pair<const char*, const char*> settings[] = {
      {"MKL_CBWR", mkl_branch()},
      {"GOMP_SPINCOUNT", "1000"},
      {"GLIBC_TUNABLES",
       "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4194304:glibc.malloc.arena_max=2"}};
  bool fixed = true;
  for (const auto& [name, value] : settings) {
    fixed &= std::getenv(name) != nullptr;
    constexpr int kKeep = 0;
    ::setenv(name, value, kKeep);
  }
  // Without /proc it goes on as it is: slower beside other work, and bits may vary between CPUs.
  if (!fixed) ::execv("/proc/self/exe", argv);
}

TrainRegistry TrainRegistry::builtin() {
  return {builtin_models(),
          builtin_tasks(),
          builtin_optimizers(),
          builtin_samplers(),
          builtin_caches()};
}

int train_main(int argc, char** argv, const TrainRegistry& registry) {
  if (const int code = cli::check_processor(argc, argv); code >= 0) return code;
  prepare_process(argv);
  CLI::App app("Trains graph neural networks, from memory or from disk, within a memory budget.",
               "sluice-train");
  app.set_version_flag("--version", "sluice-train " SLUICE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  sluice-train config init data/papers > papers.toml\n"
      "  sluice-train run papers.toml\n"
      "  sluice-train resume runs/papers\n"
      "  sluice-train predict runs/papers --out predictions.csv\n\n"
      "SLUICE_MAX_CPU_ISA=baseline|avx2|avx512 caps the instruction set of Sluice's kernels; it "
      "changes no bit.\n\n"
      "Exit codes: 0 done, 2 usage or config, 3 data, 4 resources (memory, disk, GPU), 5 I/O, 70 "
      "internal, 130 interrupted\n"
      "with a checkpoint written.");
  cli::TrainSession session(registry);
  cli::TrainAction action;
  cli::add_run(app, session, action);
  cli::add_resume(app, session, action);
  cli::add_evaluate(app, session, action);
  cli::add_predict(app, session, action);
  cli::add_export(app, session, action);
  cli::add_config(app, session, action);
  cli::add_doctor(app, session, action);
  if (const int code = cli::parse(app, argc, argv); code >= 0) return code;
  const InterruptGuard guard;
  return cli::run_command(session.output(), action.run);
}

}  // namespace sluice
