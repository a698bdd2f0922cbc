#include <sluice/train.h>

#include "cli/train_commands.h"
#include "core/interrupt.h"
#include "registry/train.h"

#include <unistd.h>

#include <cstdlib>

namespace sluice {
namespace {

// MKL picks code by CPU and GNU OpenMP spins by default; both read the environment as they are
// loaded, which is before main. So where nothing was set, the program starts anew, once, with
// settings that make results reproducible.
void fix_environment(char** argv) {
  const bool fixed = std::getenv("MKL_CBWR") != nullptr && std::getenv("GOMP_SPINCOUNT") != nullptr;
  if (fixed) return;
  constexpr int kKeep = 0;  // what the user set stays
  ::setenv("MKL_CBWR", __builtin_cpu_supports("avx2") ? "AVX2" : "COMPATIBLE", kKeep);
  ::setenv("GOMP_SPINCOUNT", "0", kKeep);
  ::execv("/proc/self/exe", argv);
  // Without /proc it goes on as it is: slower beside other work, and MKL's bits may vary between
  // CPUs.
}

}  // namespace

TrainRegistry TrainRegistry::builtin() {
  return {builtin_models(), builtin_tasks(), builtin_optimizers()};
}

int train_main(int argc, char** argv, const TrainRegistry& registry) {
  fix_environment(argv);
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
      "Exit codes: 0 done, 2 usage or config, 3 data, 4 resources (memory, disk), 5 I/O, 70 "
      "internal, 130 interrupted\n"
      "with a checkpoint written.");
  cli::TrainSession session(registry);
  cli::TrainAction action;
  cli::add_run(app, session, action);
  cli::add_resume(app, session, action);
  cli::add_evaluate(app, session, action);
  cli::add_predict(app, session, action);
  cli::add_config(app, session, action);
  cli::add_doctor(app, session, action);
  if (const int code = cli::parse(app, argc, argv); code >= 0) return code;
  const InterruptGuard guard;
  return cli::run_command(session.output(), action.run);
}

}  // namespace sluice
