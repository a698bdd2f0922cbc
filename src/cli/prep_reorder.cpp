#include "cli/catalog_entry.h"
#include "cli/prep_commands.h"
#include "prep/order/reorder.h"
#include "registry/core.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

// What `sluice-prep reorder NAME` collects before it runs.
struct ReorderRequest {
  CatalogEntry entry;
  std::string dataset;
  std::string out;
  std::string node_type;
  bool overwrite = false;
};

nlohmann::ordered_json types_json(const ReorderReport& report) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ReorderReport::Type& type : report.types) {
    all.push_back({{"type", type.name},
                   {"batches", type.touches.batches},
                   {"rows", type.touches.rows},
                   {"pages_before", type.touches.pages_before},
                   {"pages_after", type.touches.pages_after},
                   {"of_before", type.touches.ratio()}});
  }
  return all;
}

void run_reorder(const ReorderRequest& request, PrepSession& session) {
  PrepContext& context = session.start();
  const Catalog<NodeOrder> catalog = node_orders();
  const auto order = catalog.create(request.entry.selection(catalog));
  ReorderOptions options;
  options.dataset = request.dataset;
  options.out = request.out.empty() ? request.dataset : request.out;
  options.overwrite =
      request.out.empty() || request.overwrite ? Overwrite::kReplace : Overwrite::kRefuse;
  options.node_type = request.node_type;
  options.created_by = "sluice-prep " SLUICE_VERSION " reorder " + request.entry.command_line();
  const ReorderReport report = reorder_dataset(options, *order, context);
  if (session.json()) {
    nlohmann::ordered_json object = {{"dataset", options.out.string()},
                                     {"order", request.entry.name()},
                                     {"types", types_json(report)},
                                     {"bytes", {{"written", report.bytes}}}};
    session.add_figures(object);
    return print_json(object);
  }
  for (const ReorderReport::Type& type : report.types) {
    fmt::print(
        "  nodes '{}': a sampled epoch of {} mini-batches reads {} pages without a cache, {} "
        "before: {:.2f}\n",
        type.name,
        format_count(type.touches.batches),
        format_count(type.touches.pages_after),
        format_count(type.touches.pages_before),
        type.touches.ratio());
  }
  fmt::print(
      "{}: {} {}\n", options.out.string(), format_bytes(report.bytes), session.figures_text());
}

}  // namespace

void add_reorder(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* reorder = app.add_subcommand(
      "reorder", "store nodes in another order, so that rows read together lie together");
  reorder->require_subcommand(1);
  const Catalog<NodeOrder> catalog = node_orders();
  for (const auto& entry : catalog.list()) {
    CLI::App* command = reorder->add_subcommand(entry.name, entry.help);
    auto request = std::make_shared<ReorderRequest>();
    command->add_option("dataset", request->dataset, "the dataset directory")
        ->required()
        ->type_name("DIR");
    command->add_option("--out", request->out, "where to; without it the dataset is replaced")
        ->type_name("DIR");
    command->add_flag("--overwrite", request->overwrite, "replace a dataset that is at --out");
    command->add_option("--type", request->node_type, "only this node type; else all")
        ->type_name("NAME");
    request->entry.add_flags(*command, catalog, entry.name);
    session.add_options(*command);
    command->callback([request, &session, &action] {
      action.run = [request, &session] { run_reorder(*request, session); };
    });
  }
  reorder->footer(
      "Example:\n  sluice-prep reorder cluster data/papers --out data/papers-clustered");
}

}  // namespace sluice::cli
