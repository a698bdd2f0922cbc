#include "cli/prep_commands.h"
#include "prep/holdout/hold_out.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

// What `sluice-prep hold-out` collects before it runs.
struct HoldOutRequest {
  HoldOutOptions options;
  bool overwrite = false;
};

void run_hold_out(HoldOutRequest request, PrepSession& session) {
  PrepContext& context = session.start();
  HoldOutOptions& options = request.options;
  options.overwrite = request.overwrite ? Overwrite::kReplace : Overwrite::kRefuse;
  options.created_by = fmt::format("sluice-prep {} hold-out --valid {} --test {} --seed {}",
                                   SLUICE_VERSION,
                                   options.valid,
                                   options.test,
                                   options.seed);
  const HoldOutReport report = hold_out_links(options, context);
  if (session.json()) {
    nlohmann::ordered_json object = {{"dataset", options.out.string()},
                                     {"relation", report.relation},
                                     {"split", options.split},
                                     {"pairs", {{"valid", report.valid}, {"test", report.test}}},
                                     {"edges_removed", report.removed},
                                     {"bytes", {{"written", report.bytes}}}};
    session.add_figures(object);
    return print_json(object);
  }
  fmt::print(
      "  split '{}' of '{}': {} pairs to validate by, {} to test by, and as many that are "
      "no edges; {} edges removed\n",
      options.split,
      report.relation,
      format_count(report.valid),
      format_count(report.test),
      format_count(report.removed));
  fmt::print(
      "{}: {} {}\n", options.out.string(), format_bytes(report.bytes), session.figures_text());
}

}  // namespace

void add_hold_out(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command = app.add_subcommand(
      "hold-out", "make a dataset without some links, which it keeps apart to be predicted");
  auto request = std::make_shared<HoldOutRequest>();
  HoldOutOptions& options = request->options;
  command->add_option("dataset", options.dataset, "the dataset directory")
      ->required()
      ->type_name("DIR");
  command->add_option("--out", options.out, "where to")->required()->type_name("DIR");
  command->add_flag("--overwrite", request->overwrite, "replace a dataset that is at --out");
  command->add_option("--relation", options.relation, "whose links, where there are several")
      ->type_name("KEY");
  command
      ->add_option(
          "--reverse",
          options.reverse,
          "the relation that holds the same edges the other way round: they go from it too")
      ->type_name("KEY");
  command->add_option("--split", options.split, "what the split of the pairs is called")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option(
          "--pairs",
          options.pairs,
          "a folder for valid.csv and test.csv as well: source,target,label by your own ids")
      ->type_name("DIR");
  command->add_option("--valid", options.valid, "share of the pairs to validate by")
      ->capture_default_str();
  command->add_option("--test", options.test, "share of the pairs to test by")
      ->capture_default_str();
  command->add_option("--seed", options.seed, "of the choice")->capture_default_str();
  session.add_options(*command);
  command->callback([request, &session, &action] {
    action.run = [request, &session] { run_hold_out(*request, session); };
  });
  command->footer("Example:\n  sluice-prep hold-out data/cora --out data/cora-links --seed 1");
}

}  // namespace sluice::cli
