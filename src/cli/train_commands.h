// The commands of sluice-train: each adds itself to the app and says what to run.
#pragma once

#include "cli/tool.h"
#include "train/commands.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::cli {

/// Options that every command takes, and the context made from them.
class TrainSession {
 public:
  explicit TrainSession(const TrainRegistry& registry) : registry_(registry) {}

  void add_options(CLI::App& command);
  /// `--trace FILE`, of commands that train or evaluate.
  void add_trace(CLI::App& command);
  Output output() const { return json_ ? Output::kJson : Output::kText; }
  bool json() const { return json_; }
  const TrainRegistry& registry() const { return registry_; }

  /// Makes the context; call once, inside run_command.
  const TrainContext& start();

 private:
  struct State;
  const TrainRegistry& registry_;
  bool json_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
  std::string trace_;
  std::shared_ptr<State> state_;
};

/// What the parsed command line asked for; empty when no command was given.
struct TrainAction {
  std::function<void()> run;
};

void add_run(CLI::App& app, TrainSession& session, TrainAction& action);
void add_resume(CLI::App& app, TrainSession& session, TrainAction& action);
void add_continue(CLI::App& app, TrainSession& session, TrainAction& action);
void add_evaluate(CLI::App& app, TrainSession& session, TrainAction& action);
void add_predict(CLI::App& app, TrainSession& session, TrainAction& action);
void add_embed(CLI::App& app, TrainSession& session, TrainAction& action);
void add_probe(CLI::App& app, TrainSession& session, TrainAction& action);
void add_negatives(CLI::App& app, TrainSession& session, TrainAction& action);
void add_export(CLI::App& app, TrainSession& session, TrainAction& action);
void add_config(CLI::App& app, TrainSession& session, TrainAction& action);
void add_doctor(CLI::App& app, TrainSession& session, TrainAction& action);

/// `--set KEY=VALUE`, any number of times.
void add_set(CLI::App& command, std::vector<std::string>& sets);

/// Prints a report as the session wants it.
void print_report(const RunReport& report, const TrainSession& session);

}  // namespace sluice::cli
