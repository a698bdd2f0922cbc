#include "cli/prep_commands.h"
#include "prep/update/append.h"
#include "prep/update/partition.h"
#include "registry/core.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <nlohmann/json.hpp>

#include <optional>
#include <vector>

namespace sluice::cli {
namespace {

// What `sluice-prep append` collects before it runs.
struct UpdateRequest {
  std::string dataset;
  std::string config;
  std::optional<std::string> root;
  std::vector<std::string> sets;
};

void print_report(const char* verb,
                  const std::string& dataset,
                  const UpdateReport& report,
                  PrepSession& session) {
  if (session.json()) {
    nlohmann::ordered_json object = {{"dataset", dataset},
                                     {"generation", report.generation},
                                     {"nodes", report.nodes},
                                     {verb, report.edges},
                                     {"bytes", {{"data", report.bytes}}}};
    session.add_figures(object);
    return print_json(object);
  }
  const std::string nodes =
      report.nodes == 0 ? std::string() : fmt::format("{} nodes and ", format_count(report.nodes));
  fmt::print("{}: {}{} edges {}, generation {}, {} {}\n",
             dataset,
             nodes,
             format_count(report.edges),
             verb,
             report.generation,
             format_bytes(report.bytes),
             session.figures_text());
}

void run_append(const UpdateRequest& request, PrepSession& session) {
  PrepContext& context = session.start();
  const TableFormats formats = table_formats();
  Config config = Config::load(request.config);
  for (const std::string& assignment : request.sets) config.set(assignment);
  GraphSpec spec(formats);
  config.bind_to(spec);
  const auto root = resolve_root(spec, request.config, request.root);
  const UpdateReport report =
      append_to_dataset(request.dataset,
                        std::move(spec),
                        formats,
                        root,
                        "sluice-prep " SLUICE_VERSION " append --config " + request.config,
                        context);
  print_report("appended", request.dataset, report, session);
}

void run_compact(const std::string& dataset, PrepSession& session) {
  PrepContext& context = session.start();
  const UpdateReport report =
      compact_dataset(dataset, "sluice-prep " SLUICE_VERSION " compact", context);
  print_report("folded", dataset, report, session);
}

void run_partition(const std::string& dataset,
                   const PartitionOptions& options,
                   PrepSession& session) {
  PrepContext& context = session.start();
  const UpdateReport report = partition_dataset(
      dataset,
      options,
      fmt::format("sluice-prep {} partition --parts {}", SLUICE_VERSION, options.parts),
      context);
  print_report("partitioned", dataset, report, session);
}

}  // namespace

void add_partition(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command = app.add_subcommand(
      "partition", "add node ranges and edge buckets, for training a few partitions at a time");
  auto dataset = std::make_shared<std::string>();
  auto options = std::make_shared<PartitionOptions>();
  command->add_option("dataset", *dataset, "the dataset directory")->required()->type_name("DIR");
  command->add_option("--parts", options->parts, "node ranges; their square is the buckets")
      ->capture_default_str();
  command->add_option("--type", options->node_type, "the node type, where there are several")
      ->type_name("NAME");
  command->add_option("--level", options->level, "of zstd")
      ->check(CLI::Range(1, 19))
      ->capture_default_str();
  session.add_options(*command);
  command->callback([dataset, options, &session, &action] {
    action.run = [dataset, options, &session] { run_partition(*dataset, *options, session); };
  });
  command->footer("Example:\n  sluice-prep partition data/papers --parts 16");
}

void add_append(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command =
      app.add_subcommand("append", "add nodes and edges to a dataset, as a new generation");
  auto request = std::make_shared<UpdateRequest>();
  command->add_option("dataset", request->dataset, "the dataset directory")
      ->required()
      ->type_name("DIR");
  command
      ->add_option(
          "--config",
          request->config,
          "what to add, as in a graph.toml: [[nodes]] with files of the new nodes alone, [[edges]]")
      ->required()
      ->type_name("FILE");
  command->add_option("--root", request->root, "folder of the files")->type_name("DIR");
  command->add_option("--set", request->sets, "KEY=VALUE: overrides a key of the config")
      ->type_name("KEY=VALUE");
  session.add_options(*command);
  command->callback([request, &session, &action] {
    action.run = [request, &session] { run_append(*request, session); };
  });
  command->footer("Example:\n  sluice-prep append data/papers --config more.toml");
}

void add_compact(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command =
      app.add_subcommand("compact", "fold appended edges into the files that training reads");
  auto dataset = std::make_shared<std::string>();
  command->add_option("dataset", *dataset, "the dataset directory")->required()->type_name("DIR");
  session.add_options(*command);
  command->callback([dataset, &session, &action] {
    action.run = [dataset, &session] { run_compact(*dataset, session); };
  });
  command->footer("Example:\n  sluice-prep compact data/papers");
}

}  // namespace sluice::cli
