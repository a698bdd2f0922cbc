#include "cli/train_commands.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sluice::cli {

struct TrainSession::State {
  State(const TrainRegistry& registry, Verbosity verbosity, ProgressStyle progress)
      : log(make_logger(verbosity)), context{registry, *log, peak, progress, {}} {}

  PeakMemory peak;
  std::shared_ptr<Logger> log;
  TrainContext context;
};

void TrainSession::add_options(CLI::App& command) {
  command.add_flag(
      "--json", json_, "print one JSON object on stdout at the end, and nothing else there");
  command.add_flag("--quiet,-q", quiet_, "warnings and errors only");
  command.add_flag("--verbose,-v", verbose_, "say more");
}

void TrainSession::add_trace(CLI::App& command) {
  command
      .add_option("--trace",
                  trace_,
                  "write what each stage did and when to a file for Perfetto (ui.perfetto.dev); "
                  "some 500 bytes a mini-batch")
      ->type_name("FILE");
}

const TrainContext& TrainSession::start() {
  const Verbosity verbosity = quiet_     ? Verbosity::kQuiet
                              : verbose_ ? Verbosity::kVerbose
                                         : Verbosity::kNormal;
  state_ = std::make_shared<State>(
      registry_, verbosity, quiet_ ? ProgressStyle::kSilent : ProgressStyle::kAuto);
  state_->context.trace = trace_;
  return state_->context;
}

void add_set(CLI::App& command, std::vector<std::string>& sets) {
  command.add_option("--set", sets, "override a key of the config, such as train.epochs=3")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void print_report(const RunReport& report, const TrainSession& session) {
  if (session.json()) return print_json(to_json(report));
  fmt::print("{}", to_text(report));
}

}  // namespace sluice::cli
