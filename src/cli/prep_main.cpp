// sluice-prep: makes and checks datasets.
#include "cli/prep_commands.h"
#include "core/interrupt.h"

int main(int argc, char** argv) {
  if (const int code = sluice::cli::check_processor(argc, argv); code >= 0) return code;
  CLI::App app("Makes and checks Sluice datasets.", "sluice-prep");
  app.set_version_flag("--version", "sluice-prep " SLUICE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  sluice-prep import --config graph.toml --out data/papers\n"
      "  sluice-prep generate rmat --scale 20 --out data/rmat20\n"
      "  sluice-prep inspect data/papers\n"
      "  sluice-prep verify data/papers\n\n"
      "Exit codes: 0 done, 2 usage or config, 3 data, 4 resources (memory, disk), 5 I/O, 70 "
      "internal, 130 interrupted.");
  sluice::cli::PrepSession session;
  sluice::cli::PrepAction action;
  sluice::cli::add_import(app, session, action);
  sluice::cli::add_generate(app, session, action);
  sluice::cli::add_reorder(app, session, action);
  sluice::cli::add_append(app, session, action);
  sluice::cli::add_compact(app, session, action);
  sluice::cli::add_partition(app, session, action);
  sluice::cli::add_attach(app, session, action);
  sluice::cli::add_propagate(app, session, action);
  sluice::cli::add_hold_out(app, session, action);
  sluice::cli::add_export(app, session, action);
  sluice::cli::add_inspect(app, session, action);
  sluice::cli::add_verify(app, session, action);
  if (const int code = sluice::cli::parse(app, argc, argv); code >= 0) return code;
  const sluice::InterruptGuard guard;
  return sluice::cli::run_command(session.output(), action.run);
}
