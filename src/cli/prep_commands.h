// The commands of sluice-prep: each adds itself to the app and says what to run.
#pragma once

#include "cli/tool.h"
#include "prep/prep_context.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>

namespace sluice::cli {

/// Options that every command takes, and the context made from them.
class PrepSession {
 public:
  void add_options(CLI::App& command);
  Output output() const { return json_ ? Output::kJson : Output::kText; }
  bool json() const { return json_; }

  /// Makes the context; call once, inside run_command. Throws kUsage for a bad --memory.
  PrepContext& start();

  /// `seconds` and `memory` as every command's JSON has them.
  void add_figures(nlohmann::ordered_json& object);
  /// "in 1.2 s, peak memory 30 MiB of 2 GiB"
  std::string figures_text();

 private:
  struct State;
  std::string memory_ = "auto";
  int threads_ = 0;
  bool json_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
  std::shared_ptr<State> state_;
};

/// What the parsed command line asked for; empty when no command was given.
struct PrepAction {
  std::function<void()> run;
};

void add_import(CLI::App& app, PrepSession& session, PrepAction& action);
void add_generate(CLI::App& app, PrepSession& session, PrepAction& action);
void add_reorder(CLI::App& app, PrepSession& session, PrepAction& action);
void add_append(CLI::App& app, PrepSession& session, PrepAction& action);
void add_compact(CLI::App& app, PrepSession& session, PrepAction& action);
void add_export(CLI::App& app, PrepSession& session, PrepAction& action);
void add_partition(CLI::App& app, PrepSession& session, PrepAction& action);
void add_attach(CLI::App& app, PrepSession& session, PrepAction& action);
void add_propagate(CLI::App& app, PrepSession& session, PrepAction& action);
void add_hold_out(CLI::App& app, PrepSession& session, PrepAction& action);
void add_inspect(CLI::App& app, PrepSession& session, PrepAction& action);
void add_verify(CLI::App& app, PrepSession& session, PrepAction& action);

}  // namespace sluice::cli
