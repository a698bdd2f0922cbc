#include "cli/train_commands.h"
#include "train/negatives.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

// What `sluice-train negatives` collects before it runs.
struct NegativesRequest {
  std::string config;
  std::vector<std::string> sets;
  std::string out;
};

void run_negatives(const NegativesRequest& request, TrainSession& session) {
  const TrainContext& context = session.start();
  Config config = Config::load(request.config);
  for (const std::string& assignment : request.sets) config.set(assignment);
  const RunOptions options = resolve_options(config, session.registry());
  const NegativesReport report = write_negatives(
      options,
      fmt::format("sluice-train {} negatives, seed {}", SLUICE_VERSION, options.seed),
      request.out,
      context);
  if (session.json())
    return print_json({{"out", report.out},
                       {"rows", {{"valid", report.valid}, {"test", report.test}}},
                       {"columns", report.columns},
                       {"bytes", {{"written", report.bytes}}},
                       {"seconds", report.seconds}});
  fmt::print(
      "{}: {} destinations beside each of {} events to validate by and {} to test by, {} in "
      "{:.2f} s\n",
      report.out,
      format_count(report.columns),
      format_count(report.valid),
      format_count(report.test),
      format_bytes(report.bytes),
      report.seconds);
}

}  // namespace

void add_negatives(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command = app.add_subcommand(
      "negatives", "write the destinations that a config's events are ranked among, as lists");
  auto request = std::make_shared<NegativesRequest>();
  command->add_option("config", request->config, "the config, of task temporal_link_prediction")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--out",
                   request->out,
                   "a new folder for valid.npy, test.npy and negatives.json, which says what they "
                   "are of")
      ->required()
      ->type_name("DIR");
  add_set(*command, request->sets);
  session.add_options(*command);
  command->footer(
      "A row an event in the order of time, drawn by the config's seed, split, task.ranked and\n"
      "task.ranked_by; a run with task.stored_negatives = \"DIR\" ranks by them, and refuses them\n"
      "beside other events.\n\n"
      "Example:\n"
      "  sluice-train negatives configs/uci-recency.toml --set task.ranked=49 \\\n"
      "    --set task.ranked_by=mixed --out data/uci-negatives");
  command->callback([request, &session, &action] {
    action.run = [request, &session] { run_negatives(*request, session); };
  });
}

}  // namespace sluice::cli
