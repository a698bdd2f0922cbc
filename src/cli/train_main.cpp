#include <sluice/train.h>

#include "cli/train_commands.h"
#include "cli/train_environment.h"
#include "core/interrupt.h"

#include <unistd.h>  // environ

namespace sluice {

void prepare_process(char** argv) {
  cli::fix_environment(argv, environ);
  cli::set_environment(environ);
}

TrainRegistry TrainRegistry::builtin() {
  return {builtin_models(),
          builtin_tasks(),
          builtin_optimizers(),
          builtin_samplers(),
          builtin_caches(),
          builtin_sparse_optimizers()};
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
  cli::add_continue(app, session, action);
  cli::add_evaluate(app, session, action);
  cli::add_predict(app, session, action);
  cli::add_embed(app, session, action);
  cli::add_probe(app, session, action);
  cli::add_negatives(app, session, action);
  cli::add_export(app, session, action);
  cli::add_config(app, session, action);
  cli::add_doctor(app, session, action);
  if (const int code = cli::parse(app, argc, argv); code >= 0) return code;
  const InterruptGuard guard;
  return cli::run_command(session.output(), action.run);
}

}  // namespace sluice
