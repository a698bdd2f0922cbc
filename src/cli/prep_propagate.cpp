#include "cli/prep_commands.h"
#include "prep/propagate/propagate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sluice/graph_schema.h>
#include <sluice/units.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {
namespace {

const std::vector<std::pair<std::string, PropagationMethod>> kMethods{
    {"sgc", PropagationMethod::kSgc},
    {"sign", PropagationMethod::kSign},
    {"metapaths", PropagationMethod::kMetapaths},
    {"random_projection", PropagationMethod::kRandomProjection},
    {"labels", PropagationMethod::kLabels}};

// The flags that some methods alone look at.
struct FlagOfMethods {
  const char* flag;
  std::vector<std::string> methods;
};
const std::vector<FlagOfMethods> kFlagsOfMethods{
    {"--features", {"sgc", "sign", "metapaths", "random_projection"}},
    {"--relation", {"sgc", "sign"}},
    {"--backwards", {"metapaths", "random_projection", "labels"}},
    {"--split", {"labels"}},
    {"--parts", {"labels"}},
    {"--predictions", {"labels"}},
    {"--seed", {"random_projection", "labels"}},
    {"--columns", {"random_projection"}}};

// What `sluice-prep propagate` collects before it runs.
struct PropagateRequest {
  std::string dataset;
  std::string method;
  std::string dtype = "f16";
  bool replace = false;
  bool dry_run = false;
  std::vector<FlagOfMethods> given;  // of kFlagsOfMethods
  PropagationOptions options;

  void settle() {
    for (const FlagOfMethods& flag : given)
      if (std::ranges::count(flag.methods, method) == 0)
        throw Error(
            ErrorCode::kUsage,
            fmt::format("--method {} has no use for {}", method, flag.flag),
            fmt::format("leave it out: it is of --method {}", fmt::join(flag.methods, ", ")));
    for (const auto& [name, method_of] : kMethods)
      if (name == method) options.method = method_of;
    options.dtype = parse_feature_dtype(dtype).value_or(DType::kF16);
    options.tables = replace ? Overwrite::kReplace : Overwrite::kRefuse;
    if (options.name.empty()) options.name = method == "random_projection" ? "projected" : method;
  }
};

nlohmann::ordered_json tables_json(const PropagationReport& report) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const PropagationReport::Table& table : report.tables)
    all.push_back({{"name", table.name}, {"rows", table.rows}, {"columns", table.columns}});
  return all;
}

nlohmann::ordered_json cuts_json(const PropagationReport& report) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const PropagationReport::Cut& cut : report.cuts)
    all.push_back({{"type", cut.node_type},
                   {"columns", cut.columns},
                   {"panel", cut.panel},
                   {"panels", cut.panels},
                   {"products", cut.products}});
  return all;
}

nlohmann::ordered_json report_json(const PropagateRequest& request,
                                   const PropagationReport& report) {
  return {{"dataset", request.dataset},
          {"method", request.method},
          {"generation", report.generation},
          {"tables", tables_json(report)},
          {"panels", cuts_json(report)},
          {"passes", report.passes},
          {"bytes",
           {{"edges", report.bytes_edges},
            {"rows_read", report.bytes_read},
            {"rows_written", report.bytes_written},
            {"formula", report.bytes_formula},
            {"tables", report.bytes_tables},
            {"disk", report.bytes_disk}}},
          {"least_memory", report.least_memory}};
}

void print_text(const PropagateRequest& request,
                const PropagationReport& report,
                PrepSession& session) {
  for (const PropagationReport::Cut& cut : report.cuts)
    fmt::print("  '{}': {} columns in {} panels of {}, {} products\n",
               cut.node_type,
               cut.columns,
               cut.panels,
               cut.panel,
               cut.products);
  for (const PropagationReport::Table& table : report.tables)
    fmt::print(
        "  table '{}': {} rows of {}\n", table.name, format_count(table.rows), table.columns);
  fmt::print("  {} passes over edges, {} of them; {} of rows read, {} written; by the formula {}\n",
             report.passes,
             format_bytes(report.bytes_edges),
             format_bytes(report.bytes_read),
             format_bytes(report.bytes_written),
             format_bytes(report.bytes_formula));
  if (request.dry_run) {
    fmt::print("{}: would take {} of disk for a while, {} for good, and {} of memory at least\n",
               request.dataset,
               format_bytes(report.bytes_disk),
               format_bytes(report.bytes_tables),
               format_bytes(report.least_memory));
    return;
  }
  fmt::print("{}: {} tables, {}, generation {} {}\n",
             request.dataset,
             report.tables.size(),
             format_bytes(report.bytes_tables),
             report.generation,
             session.figures_text());
}

void run_propagate(PropagateRequest request, PrepSession& session) {
  PrepContext& context = session.start();
  request.settle();
  const PropagationReport report =
      request.dry_run ? plan_propagation(request.dataset, request.options, context)
                      : propagate_dataset(
                            request.dataset,
                            request.options,
                            fmt::format("sluice-prep {} propagate --method {} --hops {} --name {}",
                                        SLUICE_VERSION,
                                        request.method,
                                        request.options.hops,
                                        request.options.name),
                            context);
  if (!session.json()) return print_text(request, report, session);
  nlohmann::ordered_json object = report_json(request, report);
  session.add_figures(object);
  print_json(object);
}

void add_choices(CLI::App& command, PropagateRequest& request) {
  std::vector<std::string> methods;
  methods.reserve(kMethods.size());
  for (const auto& [name, method] : kMethods) methods.push_back(name);
  command
      .add_option("--method",
                  request.method,
                  "sgc: hops of the symmetrically normalised edges with self loops, the last one; "
                  "sign: the same without self loops, each; metapaths: means along all paths that "
                  "end at the type; random_projection: means there and back by round; labels: of "
                  "training nodes along all paths back to their type, never to the node itself")
      ->required()
      ->check(CLI::IsMember(methods));
  command.add_option("--hops", request.options.hops, "hops, edges of the longest path, or rounds")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      .add_option("--name",
                  request.options.name,
                  "of the new table, or what the names of several begin with; else the method's")
      ->type_name("NAME");
  command.add_option("--dtype", request.dtype, "of the tables, and of rows between hops")
      ->check(CLI::IsMember({"f16", "f32", "bf16"}))
      ->capture_default_str();
}

void add_places(CLI::App& command, PropagateRequest& request) {
  PropagationOptions& options = request.options;
  command.add_option("--type", options.node_type, "the node type, where there are several")
      ->type_name("NAME");
  command
      .add_option(
          "--features", options.features, "the feature table that is propagated; not of labels")
      ->capture_default_str();
  command.add_option("--relation", options.relation, "of sgc and sign, where there are several")
      ->type_name("KEY");
  command.add_flag("--backwards",
                   options.backwards,
                   "go along out-edges as well, of relations that were imported with them; not of "
                   "sgc and sign");
  command.add_option("--split", options.split, "of labels: whose training nodes show theirs")
      ->capture_default_str();
  command
      .add_option(
          "--parts", options.parts, "of labels: of the training nodes; each sees the others'")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      .add_option("--predictions",
                  options.predictions,
                  "of labels: a table of class scores (attach), whose softmax other nodes show")
      ->type_name("NAME");
  command.add_option("--seed", options.seed, "of labels' parts and of random projections")
      ->capture_default_str();
  command
      .add_option("--columns",
                  options.columns,
                  "of random projections: for types without features; 0: as many as the type has")
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str();
  command.add_option("--panel", options.panel, "columns at a time, at most; 0: as memory allows")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  command.add_flag("--replace", request.replace, "replace tables that have the names already");
  command.add_flag(
      "--dry-run", request.dry_run, "say what would be read and written, and do nothing");
}

}  // namespace

void add_propagate(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command = app.add_subcommand(
      "propagate", "carry features or labels along the edges once, as new feature tables");
  auto request = std::make_shared<PropagateRequest>();
  command->add_option("dataset", request->dataset, "the dataset directory")
      ->required()
      ->type_name("DIR");
  add_choices(*command, *request);
  add_places(*command, *request);
  session.add_options(*command);
  command->callback([request, command, &session, &action] {
    for (const FlagOfMethods& flag : kFlagsOfMethods)
      if (command->count(flag.flag) != 0) request->given.push_back(flag);
    action.run = [request, &session] { run_propagate(*request, session); };
  });
  command->footer(
      "Example:\n  sluice-prep propagate data/papers --method sign --hops 3 --memory 1GiB");
}

}  // namespace sluice::cli
