#include "cli/train_commands.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::cli {
namespace {

struct ContinueRequest {
  std::string directory;
  std::vector<std::string> sets;
  bool overwrite = false;
};

}  // namespace

void add_continue(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command = app.add_subcommand(
      "continue", "train on what was appended to a run's dataset, from the run's best weights");
  auto request = std::make_shared<ContinueRequest>();
  command->add_option("directory", request->directory, "the directory of the run to go on from")
      ->required()
      ->type_name("DIR");
  add_set(*command, request->sets);
  command->add_flag(
      "--overwrite", request->overwrite, "replace the run that is in the new run's directory");
  session.add_trace(*command);
  session.add_options(*command);
  command->footer(
      "It is a run of its own, in DIR-2 (then DIR-3, ...) unless run.dir is set. It trains on new "
      "data alone,\n"
      "beside old data that [replay] chooses, and tests both: docs/continual.md.\n\n"
      "Example:\n"
      "  sluice-prep append data/mine --config more.toml\n"
      "  sluice-train continue runs/mine --set replay.choose=structure --set replay.size=500");
  command->callback([request, &session, &action] {
    action.run = [request, &session] {
      using Mode = RunDirectory::Mode;
      print_report(continue_training(request->directory,
                                     request->sets,
                                     request->overwrite ? Mode::kReplace : Mode::kNew,
                                     session.start()),
                   session);
    };
  });
}

}  // namespace sluice::cli
